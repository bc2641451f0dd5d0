// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"

	"github.com/result-enricher/result-enricher/plugin"
)

// tooLate holds a call until the time for reading is over, which began before
// the first of them.
func tooLate(then verdict) func(*trapped) verdict {
	return func(*trapped) verdict {
		<-time.After(plugin.ReadTime)
		return then
	}
}

var _ = Describe("a kernel that is slow", func() {
	It("is waited for: every call takes as long as another ADD", func() {
		ns := routedPod()
		right := calicoRepaired(ns.Path, podLink.MAC, gateway)
		env, stdin := environment("ADD", ns.Path), conf("0.3.1", wantsGateways, calico)
		others := 0
		s := supervise(env, stdin, func(*trapped) verdict {
			Expect(start(env, stdin).kept(calico, right)).To(Equal(repaired))
			others++
			return verdict{}
		})
		Expect(s.wait().kept(calico, right)).To(Equal(repaired))
		Expect(s.requests()).To(HaveLen(4))
		Expect(others).To(BeNumerically(">=", 1+4+4), "the socket, the requests and their answers")
	})

	// All of them wait at the same time, for all of the time for reading.
	It("is not waited for beyond the time for reading", func() {
		ns := routedPod()
		interrupted := outcome{reason: "interrupted", code: 11}
		bare, without := twoLinks(ns.Path), ""
		timeout := verdict{errno: unix.EAGAIN}
		// The receive then ends with the kernel's own timeout, which the plugin has set.
		never := (*trapped).lose
		cases := []struct {
			title      string
			keys, prev string
			decide     func(c *trapped) verdict
			want       outcome
		}{
			{"the link comes never", without, calico, behind(1, never), interrupted},
			{"the link, not until the kernel's timeout", without, calico, behind(1, tooLate(timeout)), interrupted},
			{"the link comes late", without, calico, behind(1, tooLate(verdict{})), outcome{reason: "the deadline", code: 11}},
			{"the addresses come never", without, calico, behind(2, never), interrupted},
			{"the addresses, not until the kernel's timeout", without, calico, behind(2, tooLate(timeout)), interrupted},
			{
				"the addresses cannot be asked for", without, calico,
				func(c *trapped) verdict {
					if c.name == "sendto" && c.request == 2 {
						return tooLate(timeout)(c)
					}
					return verdict{}
				},
				interrupted,
			},
			// What came late is true all the same, as long as nothing else is wanted.
			{"the addresses come late, and are the last", without, calico, behind(2, tooLate(verdict{})), outcome{right: calicoRepaired(ns.Path, podLink.MAC, "")}},
			{"the addresses come late, and routes are wanted", wantsGateways, calico, behind(2, tooLate(verdict{})), outcome{reason: "the deadline", code: 11}},
			{"the routes come late", wantsGateways, calico, behind(3, tooLate(verdict{})), interrupted},
			{"the second routes come never", wantsGateways, calico, behind(4, never), interrupted},
			{"another link comes never", without, bare, behind(3, never), interrupted},
			{"another link, not until the kernel's timeout", without, bare, behind(3, tooLate(timeout)), interrupted},
			{"another link comes late, and is the last", without, bare, behind(3, tooLate(verdict{})), outcome{right: twoLinks(ns.Path, podLink.MAC, secondLink.MAC)}},
		}
		var trials []trial
		for _, c := range cases {
			trials = append(trials, try(ns.Path, c.keys, c.prev, always(c.decide)))
		}
		for i, c := range cases {
			By(c.title)
			trials[i].endsIn(c.want)
		}
	})
})
