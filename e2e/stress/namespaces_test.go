// SPDX-License-Identifier: Apache-2.0

package stress

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/internal/podns"
)

var _ = Describe("A namespace", func() {
	// The path is nothing, then a file, then a namespace without a pod link, then one with a link without an address,
	// then one that is complete.
	It("that goes and comes at the same path is described as one of those that were there", func() {
		const path = "/run/netns/cni-coming"
		var g generations
		var ns *podns.NS
		remove := func() {
			if ns != nil {
				Expect(ns.Close()).To(Succeed())
			}
		}
		renew := func() {
			g.next(func(generation int) {
				remove()
				var err error
				ns, err = podns.New(path)
				Expect(err).NotTo(HaveOccurred())
				link := newVeth(ns, "eth0", macOf(generation), mtuOf(generation))
				Expect(ns.Netlink.AddrAdd(link, address([]string{"192.0.2.10/32", "198.51.100.7/32"}[generation%2]))).To(Succeed())
				rest(ns, generation)
			})
		}
		renew()
		DeferCleanup(remove)
		var t tally
		storm(adds, renew, func(i int) {
			made := g.made.Load()
			o := add(path, policy(i), hosts)
			from, to := g.since(made)
			t.judge(o, hosts, func(r result) {
				Expect(r.Interfaces).To(HaveLen(2))
				generation := generationOf(r.Interfaces[1].Mac)
				Expect(generation).To(And(BeNumerically(">=", from), BeNumerically("<=", to)))
				Expect(generation%2).To(BeZero(), "the mac of one namespace with the address of another")
				Expect(r.Interfaces[1].Mtu).To(Equal(mtuOf(generation)))
				Expect(r.Interfaces[1].Sandbox).To(Equal(path))
				Expect(r.IPs).To(HaveExactElements(HaveField("Interface", Equal(at(1)))))
			})
		})
		t.report()
		Expect(t.ends).To(HaveKey(repaired))
		Expect(len(t.ends)).To(BeNumerically(">", 1), "nothing came in between")
	})
})
