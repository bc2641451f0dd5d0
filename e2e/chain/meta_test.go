// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"fmt"
	"os/exec"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// onePort is CAP_ARGS, the runtimeConfig that portmap asks for.
const onePort = `{"portMappings": [{"hostPort": 18080, "containerPort": 80, "protocol": "tcp"}]}`

func bandwidth() object {
	return object{
		"type":        "bandwidth",
		"ingressRate": 1 << 20, "ingressBurst": 1 << 20, "egressRate": 1 << 20, "egressBurst": 1 << 20,
	}
}

func portmap() object {
	return object{"type": "portmap", "backend": "nftables", "capabilities": object{"portMappings": true}}
}

var _ = Describe("tuning", func() {
	if !vethLink.present() {
		return
	}
	const mac, mtu = "0a:58:0a:63:00:07", 1300

	DescribeTable("leaves an mtu that is no longer so, and a mac that is", func(cniVersion string) {
		pod := newQuickPod()
		chain := newNetwork(cniVersion, pod, ptp(), object{"type": "tuning", "mac": mac, "mtu": mtu}, enricher())
		result, log := chain.add()
		index, entry := podEntry(result, pod)
		Expect(entry).To(HaveKeyWithValue("mac", mac))
		if atLeast(cniVersion, "1.0.0") {
			Expect(entry).To(HaveKeyWithValue("mtu", BeNumerically("==", mtu)))
			Expect(log).To(ConsistOf(repair{Rule: "R4", Path: fmt.Sprintf("interfaces[%d].mtu", index)}))
		} else {
			Expect(entry).NotTo(HaveKey("mtu"))
			Expect(log).To(BeEmpty())
		}
		canonical(result, pod)
		chain.checkIfKnown()
		chain.succeed("del")
		chain.expectReleased()
	}, versions())
})

var _ = Describe("bandwidth", func() {
	if !vethLink.present() || !ifbLink.present() || !shaping.present() {
		return
	}
	DescribeTable("finds the host's end and adds its own link", func(cniVersion string) {
		expectOnlyMTU(cniVersion, newQuickPod(), "", []object{ptp(), bandwidth()}, nil)
	}, versions())

	DescribeTable("does so behind result-enricher too", func(cniVersion string) {
		expectOnlyMTU(cniVersion, newQuickPod(), "", []object{ptp()}, []object{bandwidth()})
	}, versions())
})

var _ = Describe("portmap", func() {
	if _, err := exec.LookPath("nft"); err != nil {
		if inCI() {
			It("needs the nft command", func() { Fail("install the package nftables: " + err.Error()) })
		}
		return
	}
	if !bridgeLink.present() || !natRules.present() {
		return
	}
	DescribeTable("finds the pod's address behind result-enricher", func(cniVersion string) {
		expectOnlyMTU(cniVersion, newQuickPod(), onePort, []object{bridge()}, []object{portmap()})
	}, versions())

	DescribeTable("does so in front of it", func(cniVersion string) {
		expectOnlyMTU(cniVersion, newQuickPod(), onePort, []object{bridge(), portmap()}, nil)
	}, versions())
})
