// SPDX-License-Identifier: Apache-2.0

package stress

import (
	"fmt"
	"net"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/result-enricher/result-enricher/internal/podns"
)

// steady is the number of addresses that the pod link holds all the time: so many that the kernel tells them in several
// datagrams of some 400, and what changes in between can make it skip some. With those that pass there are few more than
// fill whole datagrams, so that the last one can turn out empty.
const steady = 790

func steadyAddress(i int) string { return fmt.Sprintf("10.0.%d.%d/32", i>>8, i&255) }

// crowded is a pod link with many addresses.
func crowded() (*podns.NS, netlink.Link) {
	GinkgoHelper()
	ns := newPod()
	link := newVeth(ns, "eth0", macOf(1), mtuOf(1))
	peer, err := ns.Netlink.LinkByName("p-eth0")
	Expect(err).NotTo(HaveOccurred())
	Expect(ns.Netlink.LinkSetUp(link)).To(Succeed())
	Expect(ns.Netlink.LinkSetUp(peer)).To(Succeed())
	for i := range steady {
		Expect(ns.Netlink.AddrAdd(link, address(steadyAddress(i)))).To(Succeed())
	}
	return ns, link
}

// restless gives a change of addresses and routes: a default route worse than that of the pod, IPv6 addresses with the
// duplicate address detection that follows every ADD of a real pod, and IPv4 addresses of the scope "link", which the
// kernel puts in front of the others, so that those move.
func restless(ns *podns.NS, link netlink.Link) func() {
	GinkgoHelper()
	route := func(dst, gw string, metric int) *netlink.Route {
		network, err := netlink.ParseIPNet(dst)
		Expect(err).NotTo(HaveOccurred())
		r := &netlink.Route{LinkIndex: link.Attrs().Index, Dst: network, Gw: net.ParseIP(gw), Priority: metric}
		if gw == "" {
			r.Scope = netlink.SCOPE_LINK
		}
		return r
	}
	Expect(ns.Netlink.RouteAdd(route("192.0.2.1/32", "", 0))).To(Succeed())
	Expect(ns.Netlink.RouteAdd(route("0.0.0.0/0", "192.0.2.1", 1))).To(Succeed())
	var passing []*netlink.Addr
	for i := range 50 {
		a := address(fmt.Sprintf("10.99.0.%d/32", i))
		a.Scope = unix.RT_SCOPE_LINK
		passing = append(passing, a)
	}
	passing = append(passing, address("2001:db8::99/64"))
	worse := route("0.0.0.0/0", "192.0.2.1", 9)
	return func() {
		for _, a := range passing {
			Expect(ns.Netlink.AddrAdd(link, a)).To(Succeed())
		}
		Expect(ns.Netlink.RouteAdd(worse)).To(Succeed())
		for _, a := range passing {
			Expect(ns.Netlink.AddrDel(link, a)).To(Succeed())
		}
		Expect(ns.Netlink.RouteDel(worse)).To(Succeed())
	}
}

var _ = Describe("Lists that change while they are read", func() {
	// An ADD may take the two seconds of its deadline here.
	some := func() int { return adds / 10 }

	It("are believed when they are whole: every address becomes the pod's, or none", func() {
		ns, link := crowded()
		var ips []string
		for i := range steady {
			ips = append(ips, `{"address":"`+steadyAddress(i)+`","interface":0}`)
		}
		prev := `{"cniVersion":"1.0.0","interfaces":[{"name":"cali0"},{"name":"eth0","mac":"` + macOf(1) + `","sandbox":"` + ns.Path + `"}], "ips":[` + strings.Join(ips, ",") + `]}`
		var t tally
		storm(some(), restless(ns, link), func(i int) {
			keys := policy(i)
			gateway := ""
			if i%3 == 0 {
				keys, gateway = keys+`,"gateways":true`, "192.0.2.1"
			}
			t.judge(add(ns.Path, keys, prev), prev, func(r result) {
				Expect(r.Interfaces).To(HaveLen(2))
				Expect(r.Interfaces[1]).To(And(HaveField("Mac", macOf(1)), HaveField("Mtu", mtuOf(1)), HaveField("Sandbox", ns.Path)))
				Expect(r.IPs).To(HaveLen(steady))
				var missed []string
				for _, ip := range r.IPs {
					if ip.Interface == nil || *ip.Interface != 1 || ip.Gateway != gateway {
						missed = append(missed, fmt.Sprintf("%+v", ip))
					}
				}
				Expect(missed).To(BeEmpty(), "the pod link held them all the time")
			})
		})
		t.report()
		Expect(t.ends).To(HaveKey(repaired))
	})

	It("never give the pod an address that it does not hold", func() {
		ns, link := crowded()
		const other = `{"cniVersion":"1.0.0","interfaces":[{"name":"cali0"}], "ips":[{"address":"203.0.113.9/32","interface":0}]}`
		var t tally
		storm(some(), restless(ns, link), func(i int) {
			t.judge(add(ns.Path, policy(i), other), other, func(r result) {
				Fail(fmt.Sprintf("the pod link does not hold the address, yet: %+v", r))
			})
		})
		t.report()
		Expect(t.ends).To(HaveKey("handed on: not the pod link's"))
	})
})
