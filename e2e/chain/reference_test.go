// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/vishvananda/netlink"

	"github.com/result-enricher/result-enricher/internal/podns"
)

// hostLocal gives both families an address and a default route.
func hostLocal() object {
	return object{
		"type": "host-local",
		"ranges": []any{
			[]object{{"subnet": "10.99.0.0/24"}},
			[]object{{"subnet": "fd00:99::/64"}},
		},
		"routes": []object{{"dst": "0.0.0.0/0"}, {"dst": "::/0"}},
	}
}

func bridge() object {
	DeferCleanup(func() {
		// The plugin leaves its bridge for the next pod.
		link, err := netlink.LinkByName("ref-br0")
		Expect(err).NotTo(HaveOccurred())
		Expect(netlink.LinkDel(link)).To(Succeed())
	})
	return object{"type": "bridge", "bridge": "ref-br0", "isGateway": true, "mtu": 1400, "ipam": hostLocal()}
}

func ptp() object {
	return object{"type": "ptp", "mtu": 1400, "ipam": hostLocal()}
}

func macvlan() object {
	master := netlink.NewVeth(netlink.LinkAttrs{Name: "ref-master", MTU: 1400})
	master.PeerName = "ref-wire"
	Expect(netlink.LinkAdd(master)).To(Succeed())
	DeferCleanup(netlink.LinkDel, master)
	for _, name := range []string{"ref-master", "ref-wire"} {
		link, err := netlink.LinkByName(name)
		Expect(err).NotTo(HaveOccurred())
		Expect(netlink.LinkSetUp(link)).To(Succeed())
	}
	return object{"type": "macvlan", "master": "ref-master", "ipam": hostLocal()}
}

func enricher() object { return object{"type": "result-enricher"} }

// expectOnlyMTU runs the chain without result-enricher and then with it, in front of the plugins of behind, and expects
// that the Results differ only in the mtu of the pod's entry, which the second has from CNI 1.0.0 on. Every command of
// the CNI version must succeed, and DEL must release everything.
func expectOnlyMTU(cniVersion string, pod *podns.NS, capabilities string, before, behind []object) {
	GinkgoHelper()
	By("running the chain without result-enricher")
	alone := newNetwork(cniVersion, pod, append(append([]object{}, before...), behind...)...)
	alone.capabilities = capabilities
	want, log := alone.add()
	Expect(log).To(BeEmpty())
	Expect(alone.leases()).To(HaveLen(2))
	canonical(want, pod)
	alone.checkIfKnown()
	alone.succeed("del")
	alone.expectReleased()

	By("running the chain with result-enricher")
	chain := newNetwork(cniVersion, pod, append(append(append([]object{}, before...), enricher()), behind...)...)
	chain.capabilities = capabilities
	got, log := chain.add()
	index, entry := podEntry(want, pod)
	if atLeast(cniVersion, "1.0.0") {
		Expect(entry).NotTo(HaveKey("mtu"), "the reference plugin reports an mtu now: compare it with the kernel's")
		entry["mtu"] = float64(kernelLink(entry, pod).Attrs().MTU)
		Expect(log).To(ConsistOf(repair{Rule: "R4", Path: fmt.Sprintf("interfaces[%d].mtu", index)}))
	} else {
		Expect(log).To(BeEmpty())
	}
	Expect(canonical(got, pod)).To(Equal(want))

	By("running the other commands")
	chain.checkIfKnown()
	if atLeast(cniVersion, "1.1.0") {
		chain.succeed("status")
		chain.succeed("gc")
		chain.expectReleased()
		chain.add()
		chain.checkIfKnown()
	}
	chain.succeed("del")
	chain.expectReleased()
	chain.succeed("del")
}

var _ = Describe("a reference plugin with host-local", func() {
	for _, main := range []struct {
		kind    string
		feature feature
		plugin  func() object
	}{
		{"bridge", bridgeLink, bridge},
		{"ptp", vethLink, ptp},
		{"macvlan", macvlanLink, macvlan},
	} {
		if !main.feature.present() {
			continue
		}
		DescribeTable(main.kind+" is as it was, but for a missing mtu", func(cniVersion string) {
			pod := newQuickPod()
			expectOnlyMTU(cniVersion, pod, "", []object{main.plugin()}, nil)
		}, versions())
	}
})
