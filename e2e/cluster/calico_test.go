// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/e2e/cluster/internal/sandbox"
	"github.com/result-enricher/result-enricher/e2e/cluster/internal/stack"
)

var _ = Describe("the real Calico CNI plugin on a real etcd", Ordered, func() {
	var (
		calico *stack.Calico
		node   *stack.CNI
	)

	BeforeAll(func() {
		calico = stack.PrepareCalico(stack.StartEtcd())
		node = stack.NewCNI()
	})

	// attach runs ADD in a new sandbox, and has what it made released if the spec does not.
	attach := func(chain stack.Chain) (result, netns string) {
		GinkgoHelper()
		node.Write("10-calico.conflist", calico.Conflist(chain))
		netns = sandbox.New("calico")
		result, err := node.Call("add", stack.CalicoNetwork, netns, "")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() {
			_, err := node.Call("del", stack.CalicoNetwork, netns, "")
			Expect(err).NotTo(HaveOccurred())
		})
		return result, netns
	}

	It("answers as in the bug report when it is alone", func() {
		result, netns := attach(stack.Chain{})
		eth0, host := podLink(netns)
		Expect(eth0.Addresses).To(HaveLen(1))

		// Letter for letter: indentation is cnitool's, everything else is Calico's.
		Expect(result).To(Equal(`{
    "cniVersion": "0.3.1",
    "interfaces": [
        {
            "name": "` + host + `"
        }
    ],
    "ips": [
        {
            "version": "4",
            "address": "` + eth0.Addresses[0] + `/32"
        }
    ],
    "dns": {}
}`))
	})

	for _, version := range []string{"0.3.1", "0.4.0", "1.0.0"} {
		for _, family := range []struct {
			name    string
			subnets []string
		}{
			{"IPv4", []string{stack.V4Subnet}},
			{"IPv6", []string{stack.V6Subnet}},
			{"dual stack", []string{stack.V4Subnet, stack.V6Subnet}},
		} {
			It(fmt.Sprintf("is repaired by the plugin behind it: %s, CNI %s", family.name, version), func() {
				chain := stack.Chain{CNIVersion: version, Subnets: family.subnets, Enriched: true}
				result, netns := attach(chain)
				eth0, host := podLink(netns)
				Expect(eth0.Addresses).To(HaveLen(len(family.subnets)))

				Expect(result).To(MatchJSON(repaired(version, host, netns, eth0)))

				if version != "0.3.1" { // which has no CHECK
					_, err := node.Call("check", stack.CalicoNetwork, netns, "")
					Expect(err).NotTo(HaveOccurred())
				}
			})
		}
	}

	It("has the cached Result checked by the plugin", func() {
		_, netns := attach(stack.Chain{
			CNIVersion: "1.0.0", Enriched: true, Settings: map[string]any{"failurePolicy": "fail"},
		})
		check := func() error {
			_, err := node.Call("check", stack.CalicoNetwork, netns, "")
			return err
		}
		Expect(check()).To(Succeed())
		Expect(sandbox.SetMAC(netns, "eth0", "02:00:00:00:00:01")).To(Succeed())
		Expect(check()).To(MatchError(ContainSubstring("02:00:00:00:00:01")))
	})

	It("releases everything at DEL, with the plugin in the chain", func() {
		linksBefore, err := sandbox.HostLinks()
		Expect(err).NotTo(HaveOccurred())

		_, netns := attach(stack.Chain{Subnets: []string{stack.V4Subnet, stack.V6Subnet}, Enriched: true})
		eth0, host := podLink(netns)
		Expect(sandbox.HostLinks()).To(ContainElement(host))
		Expect(calico.Leases()).To(ConsistOf(eth0.Addresses))
		Expect(calico.WorkloadEndpoints()).To(HaveExactElements(
			HaveField("Spec.IPNetworks", ConsistOf(eth0.Addresses[0]+"/32", eth0.Addresses[1]+"/128"))))
		Expect(cachedResults()).To(HaveLen(1))
		for _, address := range eth0.Addresses {
			Expect(sandbox.HostRoutes(address)).To(HaveLen(1))
		}

		_, err = node.Call("del", stack.CalicoNetwork, netns, "")
		Expect(err).NotTo(HaveOccurred())
		Expect(sandbox.HostLinks()).To(Equal(linksBefore))
		Expect(calico.Leases()).To(BeEmpty())
		Expect(calico.WorkloadEndpoints()).To(BeEmpty())
		Expect(cachedResults()).To(BeEmpty())
		for _, address := range eth0.Addresses {
			Expect(sandbox.HostRoutes(address)).To(BeEmpty())
		}
		_, err = sandbox.Read(netns, "eth0")
		Expect(err).To(MatchError(ContainSubstring("Link not found")))
	})
})

// podLink returns the sandbox's eth0, and the name of its other end on the host.
func podLink(netns string) (eth0 sandbox.Link, host string) {
	GinkgoHelper()
	eth0, err := sandbox.Read(netns, "eth0")
	Expect(err).NotTo(HaveOccurred())
	Expect(eth0.MAC).To(MatchRegexp(`^([0-9a-f]{2}:){5}[0-9a-f]{2}$`))
	host, err = sandbox.HostLink(eth0.Peer)
	Expect(err).NotTo(HaveOccurred())
	Expect(host).To(HavePrefix("cali"))
	return eth0, host
}

// repaired is the Result that describes the attachment, in the format of the CNI version.
func repaired(version, host, netns string, eth0 sandbox.Link) []byte {
	GinkgoHelper()
	pod := map[string]any{"name": "eth0", "mac": eth0.MAC, "sandbox": netns}
	result := map[string]any{"cniVersion": version}
	if version == "1.0.0" {
		pod["mtu"] = eth0.MTU // which older formats do not have
	} else {
		result["dns"] = map[string]any{} // which newer ones leave out when it is empty
	}
	var ips []map[string]any
	for _, address := range eth0.Addresses {
		ip := map[string]any{"address": address + "/32", "version": "4", "interface": 1}
		if isIPv6(address) {
			ip["address"], ip["version"] = address+"/128", "6"
		}
		if version == "1.0.0" {
			delete(ip, "version")
		}
		ips = append(ips, ip)
	}
	result["interfaces"] = []map[string]any{{"name": host}, pod}
	result["ips"] = ips
	content, err := json.Marshal(result)
	Expect(err).NotTo(HaveOccurred())
	return content
}

// cachedResults lists the files in which libcni remembers attachments.
func cachedResults() []string {
	GinkgoHelper()
	entries, err := os.ReadDir(stack.ResultCache)
	if !os.IsNotExist(err) {
		Expect(err).NotTo(HaveOccurred())
	}
	var files []string
	for _, entry := range entries {
		files = append(files, filepath.Join(stack.ResultCache, entry.Name()))
	}
	return files
}
