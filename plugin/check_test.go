// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"net"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vishvananda/netlink"

	"github.com/result-enricher/result-enricher/internal/fieldcase"
)

// onLink is a route through link, on-link so that 169.254.1.1 can be a gateway.
func onLink(link netlink.Link, dst, gw string) *netlink.Route {
	GinkgoHelper()
	network, err := netlink.ParseIPNet(dst)
	Expect(err).NotTo(HaveOccurred())
	route := &netlink.Route{LinkIndex: link.Attrs().Index, Dst: network, Gw: net.ParseIP(gw)}
	if gw == "" {
		route.Scope = netlink.SCOPE_LINK
	}
	return route
}

var _ = Describe("CHECK", func() {
	const netns = "/run/netns/cni-check"
	entry := func(keys string) string {
		return `{"cniVersion":"1.0.0","interfaces":[{"name":"cali0","mac":"02:00:00:00:00:99"},{"name":"eth0"` + keys + `}],"ips":[{"address":"203.0.113.9/32","interface":1}]}`
	}
	const sandbox = `,"sandbox":"` + netns + `"`

	DescribeTable("is content with", func(link *fieldcase.Link, prev string) {
		if link != nil {
			newPod("cni-check", []fieldcase.Link{*link}, nil)
		}
		Expect(start(environment("CHECK", netns), conf("1.0.0", `"failurePolicy":"fail"`, prev))).To(Equal(answer{}))
	},
		Entry("the link and its mac, whatever addresses and mtu say", &podLink, entry(`,"mac":"00:00:5E:00:53:01","mtu":9`+sandbox)),
		Entry("the link, when the entry has no mac", &podLink, entry(sandbox)),
		Entry("the link, when the mac is private data", &podLink, entry(`,"mac":"254"`+sandbox)),
		Entry("no prevResult", &podLink, ""),
		Entry("no entry of the name, and no sandbox", nil, `{"cniVersion":"1.0.0","interfaces":[{"name":"net1","sandbox":"`+netns+`"}]}`),
		Entry("a host entry of the name", nil, entry(`,"mac":"02:00:00:00:00:01"`)),
		Entry("a foreign entry of the name", nil, entry(`,"mac":"02:00:00:00:00:01","sandbox":"vm-1"`)),
		Entry("an entry of an unknown spelling", &podLink, entry(`,"mac":"02:00:00:00:00:01","sandbox":"/host`+netns+`"`)),
	)

	DescribeTable("finds a difference, an error under fail and a warning under ignore", func(link *fieldcase.Link, prev string, code int) {
		if link != nil {
			newPod("cni-check", []fieldcase.Link{*link}, nil)
		}
		e := start(environment("CHECK", netns), conf("1.0.0", `"failurePolicy":"fail"`, prev)).cniError()
		Expect(e.Code).To(BeEquivalentTo(code))

		a := start(environment("CHECK", netns), conf("1.0.0", "", prev))
		Expect(a.code).To(Equal(0))
		Expect(a.stdout).To(BeEmpty())
		Expect(records(a.stderr)).To(HaveExactElements(And(HaveField("Level", "WARN"), HaveField("Error", Not(BeEmpty())))))
	},
		Entry("the link is missing", &fieldcase.Link{Name: "net1", Kind: "veth", MAC: "02:00:00:00:00:01", MTU: 1500}, entry(sandbox), 100),
		Entry("the mac differs", &podLink, entry(`,"mac":"00:00:5e:00:53:02"`+sandbox), 101),
		Entry("the mac differs, under another spelling of the namespace", &podLink, entry(`,"mac":"00:00:5e:00:53:02","sandbox":"/run/netns/../netns/cni-check"`), 101),
		Entry("the sandbox is gone", nil, entry(sandbox), 8),
		Entry("prevResult does not decode", &podLink, `{"cniVersion":"1.0.0","ips":7}`, 6),
	)

	It("takes any kind of link, as the dummy that KubeVirt leaves with the old mac", func() {
		ns := newPod("cni-check", nil, nil)
		mac, err := net.ParseMAC("00:00:5e:00:53:01")
		Expect(err).NotTo(HaveOccurred())
		Expect(ns.Netlink.LinkAdd(&netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "eth0", HardwareAddr: mac}})).To(Succeed())
		Expect(start(environment("CHECK", netns), conf("1.0.0", `"failurePolicy":"fail"`, entry(`,"mac":"00:00:5e:00:53:01"`+sandbox)))).To(Equal(answer{}))
	})

	It("does not exist below 0.4.0", func() {
		for _, version := range []string{"0.2.0", "0.3.1"} {
			Expect(start(environment("CHECK", netns), conf(version, "", calico)).cniError().Code).To(BeEquivalentTo(1))
		}
	})

	It("lets a version pass that ADD let pass", func() {
		Expect(start(environment("CHECK", netns), conf("9.9.9", "", calico)).code).To(Equal(0))
		Expect(start(environment("CHECK", netns), conf("9.9.9", `"failurePolicy":"fail"`, calico)).cniError().Code).To(BeEquivalentTo(1))
	})
})
