// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/internal/podns"
)

// changed is how a sandbox changes while it is read.
type changed func(ns *podns.NS, name string)

func deleted(ns *podns.NS, name string) {
	GinkgoHelper()
	must(ns.Netlink.LinkDel(linkOf(ns, name)))
}

func renamed(ns *podns.NS, name string) {
	GinkgoHelper()
	must(ns.Netlink.LinkSetName(linkOf(ns, name), "away"))
}

const otherGateway = "169.254.1.2"

// replaced puts a link of the same name into the place, with the same address,
// and another index, mac and route.
func replaced(ns *podns.NS, name string) {
	GinkgoHelper()
	deleted(ns, name)
	bridge(ns, name)
	setMAC(ns, name, otherMAC)
	must(ns.Netlink.LinkSetUp(linkOf(ns, name)))
	routed(ns, name, "192.0.2.10/32", otherGateway)
}

// swapped gives the name to another link, without an address.
func swapped(ns *podns.NS, name string) {
	GinkgoHelper()
	renamed(ns, name)
	bridge(ns, name)
	setMAC(ns, name, otherMAC)
}

// removed is the end of the sandbox: nobody but the plugin has the namespace.
func removed(ns *podns.NS, _ string) {
	GinkgoHelper()
	must(ns.Close())
	Expect(ns.Path).NotTo(BeAnExistingFile())
}

// meanwhile makes the change before a request, by its number from 1 on. One past
// the last is before the last answer is received.
func meanwhile(request, last int, change func()) func(c *trapped) verdict {
	return func(c *trapped) verdict {
		if c.name == "sendto" && c.request == request || c.name == "recvfrom" && c.receive == 1 && c.request == last && request > last {
			change()
		}
		return verdict{}
	}
}

var _ = Describe("a sandbox that changes between two requests", func() {
	// add runs one ADD in a new pod.
	add := func(pod func() *podns.NS, policy, keys string, prev func(ns *podns.NS) string, decide func(ns *podns.NS) func(c *trapped) verdict, want outcome) {
		GinkgoHelper()
		ns := pod()
		s := tryUnder(policy, ns.Path, keys, prev(ns), decide(ns))
		t := trial{prev(ns), s, s}
		if policy == "ignore" {
			t.ignored(want)
		} else {
			t.underFail(want)
		}
		remove(ns)
	}
	// each tries a change before every request and before the last answer. Where
	// both policies must give the same, one of them is tried.
	each := func(pod func() *podns.NS, keys string, prev func(ns *podns.NS) string, change changed, name string, want ...outcome) {
		GinkgoHelper()
		for i, w := range want {
			policies := []string{"ignore", "fail"}
			if w.right != "" {
				policies = policies[i%2:][:1]
			}
			for _, policy := range policies {
				By(fmt.Sprintf("before call %d of %d, under %s", i+1, len(want), policy))
				happened := 0
				add(pod, policy, keys, prev, func(ns *podns.NS) func(c *trapped) verdict {
					return meanwhile(i+1, len(want)-1, func() { change(ns, name); happened++ })
				}, w)
				Expect(happened).To(Equal(1))
			}
		}
	}
	missing := outcome{reason: "no link of that name", code: 100}
	went := outcome{reason: "went while it was read", code: 11}
	right := func(mac, gateway string) outcome { return outcome{right: calicoRepaired(seamPath, mac, gateway)} }
	full, plain := right(podLink.MAC, gateway), right(podLink.MAC, "")
	otherFull, otherPlain := right(otherMAC, otherGateway), right(otherMAC, "")

	// The requests are for the link, its addresses, and the routes of both families.
	DescribeTable("is described as one that was there: Calico's pod",
		func(change changed, want ...outcome) {
			each(routedPod, wantsGateways, just(calico), change, "eth0", want...)
		},
		Entry("whose link is deleted", changed(deleted), missing, went, plain, full, full),
		Entry("whose link is renamed", changed(renamed), missing, full, full, full, full),
		// The other holds no address, but the only entry in a sandbox owns all.
		Entry("whose link gives its name to another", changed(swapped), otherPlain, full, full, full, full),
		Entry("whose link is replaced", changed(replaced), otherFull, went, plain, full, full),
		Entry("that is gone", changed(removed), full, full, full, full, full),
	)

	// The requests are for the link, its addresses, and the link again.
	DescribeTable("is described as one that was there: a pod whose link has no address",
		func(change changed, want ...outcome) {
			each(barePod, "", just(calico), change, "eth0", want...)
		},
		Entry("and is deleted", changed(deleted), missing, went, went, plain),
		Entry("and is renamed", changed(renamed), missing, went, went, plain),
		Entry("and gives its name to another", changed(swapped), otherPlain, went, went, plain),
		Entry("and is replaced", changed(replaced), otherPlain, went, went, plain),
		Entry("and is gone", changed(removed), plain, plain, plain, plain),
	)

	// The requests are for the pod link, its addresses, and the other link.
	both := func(macs ...string) outcome { return outcome{right: twoLinks(seamPath, macs...)} }
	DescribeTable("is described as one that was there: a pod whose second link",
		func(change changed, want ...outcome) {
			each(routedPod, "", just(twoLinks(seamPath)), change, "net1", want...)
		},
		Entry("is deleted", changed(deleted), both(podLink.MAC), both(podLink.MAC), both(podLink.MAC), both(podLink.MAC, secondLink.MAC)),
		Entry("is renamed", changed(renamed), both(podLink.MAC), both(podLink.MAC), both(podLink.MAC), both(podLink.MAC, secondLink.MAC)),
		Entry("gives its name to another", changed(swapped), both(podLink.MAC, otherMAC), both(podLink.MAC, otherMAC), both(podLink.MAC, otherMAC), both(podLink.MAC, secondLink.MAC)),
	)

	It("is described as one that was there: a pod whose first link goes before the second is asked for", func() {
		for _, policy := range []string{"ignore", "fail"} {
			add(routedPod, policy, "", just(twoLinks(seamPath)), func(ns *podns.NS) func(c *trapped) verdict {
				return meanwhile(3, 3, func() { deleted(ns, "eth0") })
			}, both(podLink.MAC, secondLink.MAC))
		}
	})

	DescribeTable("is another at CHECK", func(change changed, code int) {
		for _, policy := range []string{"ignore", "fail"} {
			ns := routedPod()
			stdin := conf("0.4.0", `"failurePolicy":"`+policy+`"`, twoLinks(ns.Path, podLink.MAC))
			s := supervise(environment("CHECK", ns.Path), stdin, meanwhile(1, 1, func() { change(ns, "eth0") }))
			a := s.wait()
			switch {
			case code == 0:
				Expect(a).To(Equal(answer{}))
			case policy == "fail":
				Expect(a.cniError().Code).To(BeEquivalentTo(code))
			default:
				Expect(a.code).To(Equal(0))
				Expect(a.stdout).To(BeEmpty())
				Expect(records(a.stderr)).To(HaveExactElements(And(HaveField("Level", "WARN"), HaveField("Error", Not(BeEmpty())))))
			}
			remove(ns)
		}
	},
		Entry("whose link is deleted", changed(deleted), 100),
		Entry("whose link is renamed", changed(renamed), 100),
		Entry("whose link is replaced", changed(replaced), 101),
		Entry("that is gone, and is as it was for who has it open", changed(removed), 0),
	)
})
