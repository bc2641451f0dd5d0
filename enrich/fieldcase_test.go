// SPDX-License-Identifier: Apache-2.0

package enrich_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/enrich"
	"github.com/result-enricher/result-enricher/internal/fieldcase"
)

var _ = Describe("a case from the field", func() {
	cases, err := fieldcase.Load("testdata/field-cases")

	It("is found", func() {
		Expect(err).NotTo(HaveOccurred())
		Expect(len(cases)).To(BeNumerically(">=", 23))
	})

	for _, c := range cases {
		It("comes out right: "+c.ID, func() {
			c = c.In(netns)
			if c.CNIVersion == "0.2.0" {
				// The plugin echoes it; here it is enough that nothing is claimed.
				Expect(c.PrevResult).To(MatchJSON(c.Want))
				return
			}
			first := repaired(string(c.PrevResult), c.Call(netns), c.Observation())
			Expect(first.document).To(MatchJSON(c.Want))

			second := repaired(string(first.document), c.Call(netns), c.Observation(), enrich.Options{})
			Expect(second.document).To(Equal(first.document), "twice is once")
			Expect(second.Repairs).To(BeEmpty())
		})
	}
})
