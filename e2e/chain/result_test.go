// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"bufio"
	"encoding/json"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/vishvananda/netlink"

	"github.com/result-enricher/result-enricher/internal/podns"
)

// repair is one repair as result-enricher logs it.
type repair struct {
	Rule string `json:"rule"`
	Path string `json:"path"`
}

// repairs reads the plugins' stderr, where only result-enricher may write: JSON objects, one per line, each about this
// attachment.
func repairs(stderr string) []repair {
	GinkgoHelper()
	var all []repair
	for lines := bufio.NewScanner(strings.NewReader(stderr)); lines.Scan(); {
		var record struct {
			Level   string   `json:"level"`
			IfName  string   `json:"ifname"`
			Repairs []repair `json:"repairs"`
		}
		Expect(json.Unmarshal(lines.Bytes(), &record)).To(Succeed(), lines.Text())
		Expect(record.Level).To(Equal("INFO"), lines.Text())
		Expect(record.IfName).To(Equal("eth0"), lines.Text())
		all = append(all, record.Repairs...)
	}
	return all
}

// interfaces are the entries of a Result.
func interfaces(result object) []object {
	GinkgoHelper()
	var entries []object
	list, _ := result["interfaces"].([]any)
	for _, entry := range list {
		Expect(entry).To(BeAssignableToTypeOf(object{}))
		entries = append(entries, entry.(object))
	}
	return entries
}

// podEntry is the index and the entry of eth0 in the pod's sandbox, of which there must be one.
func podEntry(result object, pod *podns.NS) (int, object) {
	GinkgoHelper()
	found := -1
	entries := interfaces(result)
	for i, entry := range entries {
		if entry["name"] == "eth0" && entry["sandbox"] == pod.Path {
			Expect(found).To(Equal(-1), "eth0 has two entries")
			found = i
		}
	}
	Expect(found).NotTo(Equal(-1), "eth0 has no entry: %v", result)
	return found, entries[found]
}

// kernelLink is what an entry of a Result speaks of.
func kernelLink(entry object, pod *podns.NS) netlink.Link {
	GinkgoHelper()
	name := entry["name"].(string)
	find := netlink.LinkByName
	if entry["sandbox"] == pod.Path {
		find = pod.Netlink.LinkByName
	}
	link, err := find(name)
	Expect(err).NotTo(HaveOccurred(), name)
	return link
}

var vethName = regexp.MustCompile(`^veth[0-9a-f]{8}$`)

// canonical replaces in a Result what differs from one attachment to the next, names of veths and hardware addresses,
// after it has compared the latter with the kernel's.
func canonical(result object, pod *podns.NS) object {
	GinkgoHelper()
	for _, entry := range interfaces(result) {
		if mac, given := entry["mac"]; given {
			Expect(kernelLink(entry, pod).Attrs().HardwareAddr.String()).To(Equal(mac), entry["name"].(string))
			entry["mac"] = "the kernel's"
		}
		if vethName.MatchString(entry["name"].(string)) {
			entry["name"] = "veth"
		}
	}
	return result
}
