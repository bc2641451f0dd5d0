// SPDX-License-Identifier: Apache-2.0

package node

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("limiter", func() {
	start := time.Unix(1_700_000_000, 0)

	// fight writes whenever that is allowed, as often as every step, and gives the seconds at which it did.
	fight := func(l *limiter, from, to, step time.Duration) []float64 {
		var at []float64
		for d := from; d <= to; d += step {
			if l.wait(start.Add(d)) == 0 {
				l.wrote(start.Add(d))
				at = append(at, d.Seconds())
			}
		}
		return at
	}

	It("allows five writes at once, and then one in ten seconds for as long as it goes on", func() {
		Expect(fight(&limiter{}, 0, 2*time.Minute, 100*time.Millisecond)).To(Equal([]float64{
			0, 0.1, 0.2, 0.3, 0.4, 10.4, 20.4, 30.4, 40.4, 50.4, 60.4, 70.4, 80.4, 90.4, 100.4, 110.4,
		}))
	})

	It("never waits when writes are rarer than five in a minute", func() {
		Expect(fight(&limiter{}, 0, 5*time.Minute, 15*time.Second)).To(HaveLen(21))
	})

	It("is back to normal a minute after the fight", func() {
		l := &limiter{}
		fight(l, 0, 30*time.Second, time.Second)
		Expect(l.contended(start.Add(30 * time.Second))).To(BeTrue())
		later := 3 * time.Minute
		Expect(l.contended(start.Add(later))).To(BeFalse())
		Expect(fight(l, later, later+400*time.Millisecond, 100*time.Millisecond)).To(HaveLen(5))
	})

	It("tells how long to wait", func() {
		l := &limiter{}
		fight(l, 0, 400*time.Millisecond, 100*time.Millisecond)
		Expect(l.wait(start.Add(5400 * time.Millisecond))).To(Equal(5 * time.Second))
		Expect(l.wait(start.Add(10400 * time.Millisecond))).To(BeZero())
	})

	It("remembers no more than it needs", func() {
		l := &limiter{}
		for n := range 1000 {
			l.wrote(start.Add(time.Duration(n) * time.Second))
		}
		Expect(len(l.writes)).To(BeNumerically("<", 20))
	})
})
