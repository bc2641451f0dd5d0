// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"net"
	"os/exec"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/vishvananda/netlink"

	"github.com/result-enricher/result-enricher/internal/podns"
)

const (
	podV4 = "10.135.153.140/32"
	podV6 = "fd00:135::140/128"
)

func calicoShaped() object {
	return object{"type": "calico-shaped", "addresses": []string{podV4, podV6}, "mtu": 1430}
}

// shape is what a Calico-shaped Result has in a CNI version: the addresses with their further keys.
func shape(cniVersion string, entries []any, keysV4, keysV6 object) object {
	v4, v6 := object{"address": podV4}, object{"address": podV6}
	result := object{"cniVersion": cniVersion, "interfaces": entries, "ips": []any{v4, v6}}
	if !atLeast(cniVersion, "1.0.0") {
		v4["version"], v6["version"] = "4", "6"
		result["dns"] = object{}
	}
	for key, value := range keysV4 {
		v4[key] = value
	}
	for key, value := range keysV6 {
		v6[key] = value
	}
	return result
}

// repaired is the pod's entry as it must be, from the kernel.
func repaired(cniVersion string, pod *podns.NS) object {
	GinkgoHelper()
	link, err := pod.Netlink.LinkByName("eth0")
	Expect(err).NotTo(HaveOccurred())
	entry := object{"name": "eth0", "mac": link.Attrs().HardwareAddr.String(), "sandbox": pod.Path}
	if atLeast(cniVersion, "1.0.0") {
		entry["mtu"] = 1430.0
	}
	return entry
}

// hostEntry is the host's end, of which the Result has only the name.
func hostEntry(result object) object {
	GinkgoHelper()
	entries := interfaces(result)
	Expect(entries).NotTo(BeEmpty())
	Expect(entries[0]).To(Equal(object{"name": entries[0]["name"]}))
	link, err := netlink.LinkByName(entries[0]["name"].(string))
	Expect(err).NotTo(HaveOccurred())
	Expect(link.Type()).To(Equal("veth"))
	return entries[0]
}

var _ = Describe("a plugin that answers as Calico up to v3.30 does", func() {
	if !vethLink.present() {
		return
	}
	index := func(i float64) object { return object{"interface": i} }

	DescribeTable("is told apart from a repaired one", func(cniVersion string) {
		pod := newPod()
		chain := newNetwork(cniVersion, pod, calicoShaped())
		result, _ := chain.add()
		Expect(result).To(Equal(shape(cniVersion, []any{hostEntry(result)}, nil, nil)))
		chain.succeed("del")
		chain.expectReleased()
	}, versions())

	DescribeTable("is repaired, with every command of the version", func(cniVersion string) {
		pod := newPod()
		chain := newNetwork(cniVersion, pod, calicoShaped(), enricher())
		result, log := chain.add()
		want := func(result object) object {
			return shape(cniVersion, []any{hostEntry(result), repaired(cniVersion, pod)}, index(1), index(1))
		}
		Expect(result).To(Equal(want(result)))
		Expect(log).To(Equal([]repair{
			{"R6", "interfaces[1]"}, {"R7", "ips[0].interface"}, {"R7", "ips[1].interface"},
		}))
		chain.checkIfKnown()

		By("running ADD again without DEL, as Nomad does when an attempt fails")
		again, _ := chain.add()
		Expect(again).To(Equal(want(again)))
		chain.checkIfKnown()

		if atLeast(cniVersion, "1.1.0") {
			chain.succeed("status")
			chain.succeed("gc")
			chain.expectReleased()
			chain.add()
		}
		chain.succeed("del")
		chain.expectReleased()
		Expect(podns.HostLinks()).NotTo(ContainElement(again["interfaces"].([]any)[0].(object)["name"]))
		chain.succeed("del")
	}, versions())

	DescribeTable("is repaired once, however often the plugin is in the chain", func(cniVersion string) {
		pod := newPod()
		chain := newNetwork(cniVersion, pod, calicoShaped(), enricher(), enricher())
		result, log := chain.add()
		Expect(result).To(Equal(shape(cniVersion, []any{hostEntry(result), repaired(cniVersion, pod)}, index(1), index(1))))
		Expect(log).To(HaveLen(3))
		chain.checkIfKnown()
		chain.succeed("del")
		chain.expectReleased()
	}, versions())

	DescribeTable("gets its gateways on request", func(cniVersion string) {
		pod := newPod()
		chain := newNetwork(cniVersion, pod, calicoShaped(), object{"type": "result-enricher", "gateways": true})
		result, _ := chain.add()
		Expect(result).To(Equal(shape(cniVersion, []any{hostEntry(result), repaired(cniVersion, pod)},
			object{"interface": 1.0, "gateway": "169.254.1.1"},
			object{"interface": 1.0, "gateway": "fe80::ecee:eeff:feee:eeee"},
		)))
		chain.checkIfKnown()
		chain.succeed("del")
		chain.expectReleased()
	}, versions())

	It("passes CHECK only while it is so", func() {
		pod := newPod()
		chain := newNetwork("1.1.0", pod, calicoShaped(), object{"type": "result-enricher", "failurePolicy": "fail"})
		chain.add()
		chain.succeed("check")
		link, err := pod.Netlink.LinkByName("eth0")
		Expect(err).NotTo(HaveOccurred())

		By("changing the MAC, which result-enricher has answered for")
		mac := link.Attrs().HardwareAddr
		Expect(pod.Netlink.LinkSetHardwareAddr(link, net.HardwareAddr{2, 0, 0, 0, 0, 1})).To(Succeed())
		_, stderr, err := chain.cnitool("check")
		Expect(err).To(HaveOccurred())
		Expect(stderr).To(ContainSubstring(`"eth0" has 02:00:00:00:00:01, prevResult says ` + mac.String()))

		By("taking an address away, which the upstream plugin has answered for")
		Expect(pod.Netlink.LinkSetHardwareAddr(link, mac)).To(Succeed())
		address, err := netlink.ParseAddr(podV4)
		Expect(err).NotTo(HaveOccurred())
		Expect(pod.Netlink.AddrDel(link, address)).To(Succeed())
		_, stderr, err = chain.cnitool("check")
		Expect(err).To(HaveOccurred())
		Expect(stderr).To(ContainSubstring("find 10.135.153.140 on eth0: it is gone"))

		chain.succeed("del")
		chain.expectReleased()
	})

	if ifbLink.present() && shaping.present() {
		DescribeTable("is repaired behind bandwidth, whose link stays as it is", func(cniVersion string) {
			pod := newPod()
			chain := newNetwork(cniVersion, pod, calicoShaped(), bandwidth(), enricher())
			result, _ := chain.add()
			host := hostEntry(result)
			entries := interfaces(result)
			Expect(entries).To(HaveLen(3))
			ifb := object{"name": entries[1]["name"], "mac": kernelLink(entries[1], pod).Attrs().HardwareAddr.String()}
			Expect(kernelLink(entries[1], pod).Type()).To(Equal("ifb"))
			Expect(result).To(Equal(shape(cniVersion, []any{host, ifb, repaired(cniVersion, pod)}, index(2), index(2))))
			chain.checkIfKnown()
			chain.succeed("del")
			chain.expectReleased()
		}, versions())
	}

	if _, err := exec.LookPath("nft"); err == nil && natRules.present() {
		DescribeTable("is repaired in front of portmap", func(cniVersion string) {
			pod := newPod()
			chain := newNetwork(cniVersion, pod, calicoShaped(), enricher(), portmap())
			chain.capabilities = onePort
			result, _ := chain.add()
			Expect(result).To(Equal(shape(cniVersion, []any{hostEntry(result), repaired(cniVersion, pod)}, index(1), index(1))))
			chain.checkIfKnown()
			chain.succeed("del")
			chain.expectReleased()
		}, versions())
	}
})
