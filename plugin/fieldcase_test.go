// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"maps"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vishvananda/netlink"

	"github.com/result-enricher/result-enricher/internal/fieldcase"
)

var _ = Describe("a case from the field, in a real namespace", func() {
	cases, err := fieldcase.Load("../enrich/testdata/field-cases")

	It("is found", func() {
		Expect(err).NotTo(HaveOccurred())
		Expect(len(cases)).To(BeNumerically(">=", 23))
	})

	for _, c := range cases {
		It("comes out right: "+c.ID, func() {
			ns := newPod("cni-case", c.Sandbox, c.Host)
			c = c.In(ns.Path)
			env := environment("ADD", ns.Path)
			maps.Copy(env, map[string]string{"CNI_IFNAME": c.IfName, "CNI_CONTAINERID": c.ContainerID})
			stdin, err := c.Stdin()
			Expect(err).NotTo(HaveOccurred())

			first := start(env, string(stdin))
			Expect(first.code).To(Equal(0), first.stdout+first.stderr)
			Expect(first.stdout).To(MatchJSON(c.Want))

			c.PrevResult = []byte(first.stdout)
			stdin, err = c.Stdin()
			Expect(err).NotTo(HaveOccurred())
			second := start(env, string(stdin))
			Expect(second.stdout).To(MatchJSON(first.stdout), "twice is once")
			Expect(second.stderr).NotTo(ContainSubstring("repairs"))

			for _, h := range c.Host {
				link, err := netlink.LinkByName(h.Name)
				Expect(err).NotTo(HaveOccurred())
				Expect(netlink.LinkDel(link)).To(Succeed())
			}
		})
	}
})
