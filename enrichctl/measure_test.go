// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"fmt"
	"os"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
)

// Measured and printed, not asserted: a busy machine is no defect. More samples: ENRICHCTL_SAMPLES=40.
var _ = Describe("the time from a rewrite to the entry", func() {
	It("is measured for the first re-insertions, before any back-off", func() {
		const each = 4 // with the first insertion that is what is allowed at once
		var all []time.Duration
		for range (knob("ENRICHCTL_SAMPLES", 8) + each - 1) / each {
			l := newLab()
			l.has("10-calico.conflist", calico)
			watch := l.start(l.command(l.args("install", "--watch")...))
			Eventually(reader(l.list())).Should(Equal(enriched))
			for n := range each {
				plain, with := version(n)
				l.has("10-calico.conflist.tmp", plain)
				start := time.Now()
				Expect(os.Rename(l.list()+".tmp", l.list())).To(Succeed())
				Eventually(reader(l.list()), "10s", "1ms").Should(Equal(with))
				all = append(all, time.Since(start))
			}
			Eventually(watch.Terminate()).Should(gexec.Exit(0))
		}
		slices.Sort(all)
		AddReportEntry("re-insertion", fmt.Sprintf("%d samples: median %v, slowest %v", len(all),
			all[len(all)/2].Round(time.Millisecond), all[len(all)-1].Round(time.Millisecond)))
	})
})
