// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/containernetworking/cni/pkg/types"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/result-enricher/result-enricher/internal/fieldcase"
	"github.com/result-enricher/result-enricher/internal/podns"
)

// answer is what a run of the binary gave.
type answer struct {
	stdout, stderr string
	code           int
}

// environment is what a runtime sets for a command.
func environment(command, netns string) map[string]string {
	return map[string]string{
		"CNI_COMMAND": command, "CNI_CONTAINERID": "c-1", "CNI_NETNS": netns, "CNI_IFNAME": "eth0", "CNI_PATH": "/opt/cni/bin",
	}
}

// start runs the binary with nothing but env.
func start(env map[string]string, stdin string) answer {
	GinkgoHelper()
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(binary)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	cmd.Env = []string{}
	for _, key := range slices.Sorted(maps.Keys(env)) {
		cmd.Env = append(cmd.Env, key+"="+env[key])
	}
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil {
		Expect(err).To(BeAssignableToTypeOf(exit))
	}
	return answer{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// cniError is the one document of a failed command.
func (a answer) cniError() types.Error {
	GinkgoHelper()
	Expect(a.code).To(Equal(1))
	decoder := json.NewDecoder(strings.NewReader(a.stdout))
	decoder.DisallowUnknownFields()
	var e types.Error
	Expect(decoder.Decode(&e)).To(Succeed())
	Expect(decoder.More()).To(BeFalse(), "one document: %s", a.stdout)
	return e
}

// record is a line of the log.
type record struct {
	Level       string
	Msg         string
	ContainerID string
	IfName      string
	Netns       string
	Error       string
	Reason      string
	LogFile     string
	Stack       string
	Repairs     []struct {
		Rule, Path, Reason string
		Old, New           any
	}
}

func records(log string) []record {
	GinkgoHelper()
	list := []record{}
	for line := range strings.Lines(log) {
		var r record
		Expect(json.Unmarshal([]byte(line), &r)).To(Succeed(), line)
		list = append(list, r)
	}
	return list
}

// populate makes the links of a case in the namespace, and their other ends on
// the host where the case has them.
func populate(ns *podns.NS, sandbox, host []fieldcase.Link) {
	GinkgoHelper()
	pod, err := netns.GetFromPath(ns.Path)
	Expect(err).NotTo(HaveOccurred())
	defer pod.Close()
	peers := map[string]string{}
	for _, h := range host {
		peers[h.Peer] = h.Name
	}
	for i, l := range sandbox {
		peer, onHost := peers[l.Name]
		if !onHost {
			peer = fmt.Sprintf("peer%d", i)
		}
		var link netlink.Link = &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: l.Name}, PeerName: peer}
		if l.Kind == "tap" && mayMakeTaps() {
			link = &netlink.Tuntap{LinkAttrs: netlink.LinkAttrs{Name: l.Name}, Mode: netlink.TUNTAP_MODE_TAP}
		}
		Expect(netlink.LinkAdd(link)).To(Succeed())
		Expect(netlink.LinkSetNsFd(link, int(pod))).To(Succeed())
		if link.Type() == "veth" {
			other, err := netlink.LinkByName(peer)
			Expect(err).NotTo(HaveOccurred())
			Expect(netlink.LinkSetUp(other)).To(Succeed())
			if !onHost {
				Expect(netlink.LinkSetNsFd(other, int(pod))).To(Succeed())
			}
		}
		configure(ns, l)
	}
}

// mayMakeTaps is false for an ordinary user where the device is root's. A veth
// stands in for the tap then: only its name, mac and mtu are looked at.
func mayMakeTaps() bool { return unix.Access("/dev/net/tun", unix.W_OK) == nil }

// configure gives a link in the namespace what the case says of it.
func configure(ns *podns.NS, l fieldcase.Link) {
	GinkgoHelper()
	link, err := ns.Netlink.LinkByName(l.Name)
	Expect(err).NotTo(HaveOccurred())
	mac, err := net.ParseMAC(l.MAC)
	Expect(err).NotTo(HaveOccurred())
	Expect(ns.Netlink.LinkSetHardwareAddr(link, mac)).To(Succeed())
	Expect(ns.Netlink.LinkSetMTU(link, l.MTU)).To(Succeed())
	Expect(ns.Netlink.LinkSetUp(link)).To(Succeed())
	for _, prefix := range l.Addresses {
		addr, err := netlink.ParseAddr(prefix.String())
		Expect(err).NotTo(HaveOccurred())
		Expect(ns.Netlink.AddrAdd(link, addr)).To(Succeed())
	}
}

// newPod makes a namespace at /run/netns/NAME with links.
func newPod(name string, sandbox, host []fieldcase.Link) *podns.NS {
	GinkgoHelper()
	ns, err := podns.New("/run/netns/" + name)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(remove, ns)
	populate(ns, sandbox, host)
	return ns
}

// remove is for a namespace that may be gone already.
func remove(ns *podns.NS) {
	GinkgoHelper()
	if _, err := os.Lstat(ns.Path); !errors.Is(err, os.ErrNotExist) {
		Expect(ns.Close()).To(Succeed())
	}
}
