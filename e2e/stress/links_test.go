// SPDX-License-Identifier: Apache-2.0

package stress

import (
	"net"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vishvananda/netlink"
)

// hosts is a Result in which the pod's address is the host interface's. It is the pod's only where the pod link is seen
// to hold it, so it tells whether mac and addresses were read from the same link.
const hosts = `{"cniVersion":"1.0.0","interfaces":[{"name":"cali0"}], "ips":[{"address":"192.0.2.10/32","interface":0}]}`

var _ = Describe("A pod link", func() {
	It("that is replaced again and again is described as one of those that were there", func() {
		ns := newPod()
		var g generations
		replace := func() {
			g.next(func(generation int) {
				if generation > 1 {
					old, err := ns.Netlink.LinkByName("eth0")
					Expect(err).NotTo(HaveOccurred())
					Expect(ns.Netlink.LinkDel(old)).To(Succeed())
				}
				link := newVeth(ns, "eth0", macOf(generation), mtuOf(generation))
				// Every second link has another address.
				Expect(ns.Netlink.AddrAdd(link, address([]string{"192.0.2.10/32", "198.51.100.7/32"}[generation%2]))).To(Succeed())
				rest(ns, generation)
			})
		}
		replace()
		var t tally
		storm(adds, replace, func(i int) {
			made := g.made.Load()
			o := add(ns.Path, policy(i), hosts)
			from, to := g.since(made)
			t.judge(o, hosts, func(r result) {
				Expect(r.Interfaces).To(HaveLen(2))
				pod := r.Interfaces[1]
				generation := generationOf(pod.Mac)
				Expect(generation).To(And(BeNumerically(">=", from), BeNumerically("<=", to)), "a link from another time")
				Expect(generation%2).To(BeZero(), "the mac of one link with the address of another")
				Expect(pod.Mtu).To(Equal(mtuOf(generation)))
				Expect(pod.Sandbox).To(Equal(ns.Path))
				Expect(r.IPs).To(HaveExactElements(HaveField("Interface", Equal(at(1)))))
			})
		})
		t.report()
		Expect(t.ends).To(HaveKey(repaired))
		Expect(len(t.ends)).To(BeNumerically(">", 1), "nothing came in between")
	})

	It("that changes its name with another is never taken for it", func() {
		ns := newPod()
		links := map[string]netlink.Link{}
		for name, of := range map[string]struct{ mac, address, gateway string }{
			"eth0": {"02:00:00:00:00:0a", "192.0.2.10/24", "192.0.2.1"}, "away": {"02:00:00:00:00:0b", "198.51.100.7/24", "198.51.100.1"},
		} {
			link := newVeth(ns, name, of.mac, 1450)
			Expect(ns.Netlink.AddrAdd(link, address(of.address))).To(Succeed())
			Expect(ns.Netlink.LinkSetUp(link)).To(Succeed())
			Expect(ns.Netlink.RouteAdd(&netlink.Route{
				LinkIndex: link.Attrs().Index, Dst: &net.IPNet{IP: net.IPv4zero, Mask: net.CIDRMask(0, 32)},
				Gw: net.ParseIP(of.gateway), Priority: link.Attrs().Index,
			})).To(Succeed())
			links[name] = link
		}
		rename := func(name, to string) {
			GinkgoHelper()
			Expect(ns.Netlink.LinkSetName(links[name], to)).To(Succeed())
		}
		swap := func() {
			rename("eth0", "tmp")
			rename("away", "eth0")
			rename("eth0", "away")
			rename("away", "tmp")
			rename("eth0", "eth0")
			rename("away", "away")
		}
		var t tally
		storm(adds, swap, func(i int) {
			t.judge(add(ns.Path, policy(i)+`,"gateways":true`, hosts), hosts, func(r result) {
				Expect(r.Interfaces).To(HaveLen(2))
				Expect(r.Interfaces[1].Mac).To(Equal("02:00:00:00:00:0a"), "the other link does not hold the address")
				Expect(r.Interfaces[1].Mtu).To(Equal(1450))
				Expect(r.IPs).To(HaveExactElements(And(HaveField("Interface", Equal(at(1))), HaveField("Gateway", "192.0.2.1"))))
			})
		})
		t.report()
		Expect(t.ends).To(HaveKey(repaired))
		Expect(len(t.ends)).To(BeNumerically(">", 1), "nothing came in between")
	})

	It("whose mac, mtu and addresses change, beside a link that comes and goes, is described as it was", func() {
		ns := newPod()
		prev := `{"cniVersion":"1.0.0","interfaces":[{"name":"cali0"},{"name":"eth0","mac":"02:ff:00:00:00:00","mtu":1,"sandbox":"` + ns.Path + `"},
			{"name":"net1","sandbox":"` + ns.Path + `"}],"ips":[{"address":"192.0.2.10/32","interface":1}]}`
		link := newVeth(ns, "eth0", macOf(0), mtuOf(0))
		var g generations
		alter := func() {
			g.next(func(generation int) {
				mac, err := net.ParseMAC(macOf(generation))
				Expect(err).NotTo(HaveOccurred())
				Expect(ns.Netlink.LinkSetHardwareAddr(link, mac)).To(Succeed())
				Expect(ns.Netlink.LinkSetMTU(link, mtuOf(generation))).To(Succeed())
				Expect(ns.Netlink.AddrReplace(link, address("192.0.2.10/32"))).To(Succeed())
				if generation%100 == 0 {
					other := newVeth(ns, "net1", "02:00:00:00:00:0c", 1500)
					Expect(ns.Netlink.AddrDel(link, address("192.0.2.10/32"))).To(Succeed())
					Expect(ns.Netlink.LinkDel(other)).To(Succeed())
				}
			})
		}
		alter()
		var t tally
		var seen sync.Map
		storm(adds, alter, func(i int) {
			made := g.made.Load()
			o := add(ns.Path, policy(i), prev)
			from, to := g.since(made)
			t.judge(o, prev, func(r result) {
				Expect(r.Interfaces).To(HaveLen(3))
				generation := generationOf(r.Interfaces[1].Mac)
				Expect(generation).To(And(BeNumerically(">=", from), BeNumerically("<=", to)))
				// The mtu is set after the mac.
				Expect(r.Interfaces[1].Mtu).To(BeElementOf(mtuOf(generation), mtuOf(generation-1)))
				Expect(r.Interfaces[2].Mac).To(BeElementOf("", "02:00:00:00:00:0c"))
				Expect(r.IPs).To(HaveExactElements(HaveField("Interface", Equal(at(1)))))
				seen.Store(generation, nil)
			})
		})
		t.report()
		Expect(t.ends).To(HaveKey(repaired))
		states := 0
		seen.Range(func(any, any) bool { states++; return true })
		Expect(states).To(BeNumerically(">", 5), "the link changed between the ADDs")
	})
})
