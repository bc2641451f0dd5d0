// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"

	"github.com/result-enricher/result-enricher/internal/podns"
)

// forever is more often than a dump is repeated.
const forever = 1 << 20

// interrupting marks the answers to the first of a request with NLM_F_DUMP_INTR,
// and alters them where told.
func interrupting(request string, times int, alter func(d *datagram) *datagram) func() func(c *trapped) verdict {
	return func() func(c *trapped) verdict {
		seen := 0
		return func(c *trapped) verdict {
			if c.request == 0 || c.by.asked[c.request-1].request != request {
				return verdict{}
			}
			if c.name == "sendto" {
				seen++
			}
			if c.name != "recvfrom" || seen > times {
				return verdict{}
			}
			d := c.take().interrupted()
			if alter != nil {
				d = alter(d)
			}
			return verdict{datagram: d}
		}
	}
}

// hosts is a Result that gives the pod's address to the host. Only a link that is
// seen to hold it is the better owner.
const hosts = `{"cniVersion":"0.3.1", "interfaces":[{"name":"cali0"}],"ips":[{"version":"4","address":"192.0.2.10/32","interface":0}],"dns":{} }`

func lacking(d *datagram) *datagram { return d.without("192.0.2.10") }

var _ = Describe("a dump that is interrupted", func() {
	It("three times is asked for until it is whole", func() {
		ns := routedPod()
		eth0 := linkOf(ns, "eth0").Attrs().Index
		link, addresses, v4, v6 := getLink("eth0"), getAddresses(unix.AF_UNSPEC, eth0), getRoutes(unix.AF_INET), getRoutes(unix.AF_INET6)
		for _, c := range []struct {
			interrupted string
			alter       func(d *datagram) *datagram
			asked       []string
		}{
			{addresses, nil, []string{link, addresses, addresses, addresses, addresses, v4, v6}},
			{addresses, lacking, []string{link, addresses, addresses, addresses, addresses, v4, v6}},
			{v4, nil, []string{link, addresses, v4, v4, v4, v4, v6}},
			{v6, nil, []string{link, addresses, v4, v6, v4, v6, v4, v6, v4, v6}},
		} {
			By(c.interrupted)
			t := try(ns.Path, wantsGateways, calico, interrupting(c.interrupted, 3, c.alter))
			t.endsIn(outcome{right: calicoRepaired(ns.Path, podLink.MAC, gateway)})
			Expect(t.ignore.requests()).To(Equal(c.asked))
			Expect(t.failed.requests()).To(Equal(c.asked))
		}
	})

	Describe("and whose answer takes several datagrams", func() {
		var (
			ns               *podns.NS
			filtered, v4, v6 string
		)

		BeforeEach(func() {
			ns = routedPod()
			eth0 := linkOf(ns, "eth0")
			for i := range 1_000 {
				addAddress(ns, eth0, fmt.Sprintf("10.0.%d.%d/32", i>>8, i&255))
			}
			filtered = getAddresses(unix.AF_UNSPEC, eth0.Attrs().Index)
			v4, v6 = getAddresses(unix.AF_INET, 0), getAddresses(unix.AF_INET6, 0)
		})

		It("is begun again with the filtered one", func() {
			link := getLink("eth0")
			for interrupted, asked := range map[string][]string{
				v4: {link, filtered, v4, filtered, v4, v6, v4, v6},
				v6: {link, filtered, v4, v6, filtered, v4, v6, v4, v6},
			} {
				By(interrupted)
				t := try(ns.Path, "", hosts, interrupting(interrupted, 1, nil))
				t.endsIn(outcome{right: calicoRepaired(ns.Path, podLink.MAC, "")})
				Expect(t.ignore.requests()).To(Equal(asked))
				Expect(t.failed.requests()).To(Equal(asked))
			}
		})

		It("need not have an address in both of its lists, when the kernel has marked neither", func() {
			for _, lacks := range []int{3, 5} {
				By(fmt.Sprintf("request %d lacks it", lacks))
				lacked := func(c *trapped) verdict {
					if c.name == "recvfrom" && c.request == lacks {
						return verdict{datagram: lacking(c.take())}
					}
					return verdict{}
				}
				t := try(ns.Path, "", hosts, always(lacked))
				t.endsIn(outcome{right: calicoRepaired(ns.Path, podLink.MAC, "")})
				Expect(t.ignore.requests()).To(HaveLen(6))
			}
		})
	})

	// All of them take the time for reading, at the same time.
	It("to the deadline is a part, which proves that an address is there and never that it is not", func() {
		ns := routedPod()
		eth0 := linkOf(ns, "eth0")
		addAddress(ns, eth0, "192.0.2.11/32")
		addresses := getAddresses(unix.AF_UNSPEC, eth0.Attrs().Index)
		none := func(d *datagram) *datagram { return lacking(d).without("192.0.2.11") }
		incomplete := outcome{reason: "read incompletely: ips[0]", code: 11}
		noTime := outcome{reason: "the deadline", code: 11}
		const more = `{"cniVersion":"0.3.1", "interfaces":[{"name":"cali0"}],"ips":[{"version":"4","address":"192.0.2.10/32"},{"version":"4","address":"203.0.113.5/32"}],"dns":{} }`
		cases := []struct {
			title       string
			keys, prev  string
			interrupted string
			alter       func(d *datagram) *datagram
			want        outcome
		}{
			{"with every address of the Result", "", calico, addresses, nil, outcome{right: calicoRepaired(ns.Path, podLink.MAC, "")}},
			{"with every address, which the Result gives to the host", "", hosts, addresses, nil, outcome{right: calicoRepaired(ns.Path, podLink.MAC, "")}},
			{"without the address", "", calico, addresses, lacking, incomplete},
			{"without the address, which the Result gives to the host", "", hosts, addresses, lacking, incomplete},
			{"without any address", "", calico, addresses, none, noTime},
			{"without one of two", "", more, addresses, nil, outcome{reason: "read incompletely: ips[1]", code: 11}},
			{"so that no time is left for the routes", wantsGateways, calico, addresses, nil, noTime},
			{"of routes", wantsGateways, calico, getRoutes(unix.AF_INET), nil, noTime},
			{"of the second routes", wantsGateways, calico, getRoutes(unix.AF_INET6), nil, noTime},
		}
		var trials []trial
		for _, c := range cases {
			trials = append(trials, try(ns.Path, c.keys, c.prev, interrupting(c.interrupted, forever, c.alter)))
		}
		for i, c := range cases {
			By(c.title)
			trials[i].endsIn(c.want)
			for _, s := range []*supervisor{trials[i].ignore, trials[i].failed} {
				repeated := 0
				for _, request := range s.requests() {
					if request == c.interrupted {
						repeated++
					}
				}
				Expect(repeated).To(BeNumerically(">", 1), "asked again")
			}
		}
	})
})
