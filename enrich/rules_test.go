// SPDX-License-Identifier: Apache-2.0

package enrich_test

import (
	"errors"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/enrich"
)

// scene is one line of a rule's table. In prev and want, N stands for the
// call's netns, P for the pod link's mac and Q for another mac.
type scene struct {
	version    string // 1.0.0 by default
	prev, want string
	obs        enrich.Observation
	opts       enrich.Options
	repairs    []string
	leftAlone  error
}

const otherMAC = "00:00:5e:00:53:99"

func fill(s string) string {
	return strings.NewReplacer(`"N"`, `"`+netns+`"`, `"P"`, `"`+podMAC+`"`, `"Q"`, `"`+otherMAC+`"`).Replace(s)
}

func play(s scene) {
	GinkgoHelper()
	if s.version == "" {
		s.version = "1.0.0"
	}
	if s.want == "" {
		s.want = s.prev
	}
	wrap := func(body string) string { return fill(`{"cniVersion":"` + s.version + `",` + body + `}`) }
	call := callOf(s.version)
	first := repaired(wrap(s.prev), call, s.obs, s.opts)
	Expect(first.document).To(MatchJSON(wrap(s.want)))
	if s.leftAlone == nil {
		Expect(first.LeftAlone).NotTo(HaveOccurred())
	} else {
		Expect(first.LeftAlone).To(MatchError(s.leftAlone))
	}
	if s.repairs == nil {
		s.repairs = []string{}
	}
	for i := range s.repairs {
		s.repairs[i] = strings.NewReplacer("=N", netns, "=P", podMAC, "=Q", otherMAC).Replace(s.repairs[i])
	}
	Expect(brief(first.Repairs)).To(Equal(s.repairs))
	for _, r := range first.Repairs {
		Expect(r.Reason).NotTo(BeEmpty())
	}
	if len(s.repairs) == 0 {
		Expect(string(first.document)).To(Equal(wrap(s.prev)), "an untouched Result keeps its bytes")
	}
	second := repaired(string(first.document), call, s.obs, s.opts)
	Expect(string(second.document)).To(Equal(string(first.document)), "twice is once")
	Expect(brief(second.Repairs)).To(BeEmpty())
}

var _ = DescribeTable("R1 removes nulls and follows the indices", play,
	Entry("before, between and after", scene{
		prev:    `"interfaces":[null,{"name":"cali0"},null,{"name":"eth0","mac":"P","mtu":1450,"sandbox":"N"},null],"ips":[null,{"address":"192.0.2.10/32","interface":3},null],"routes":[null,{"dst":"192.0.2.0/24"}]`,
		want:    `"interfaces":[{"name":"cali0"},{"name":"eth0","mac":"P","mtu":1450,"sandbox":"N"}],"ips":[{"address":"192.0.2.10/32","interface":1}],"routes":[{"dst":"192.0.2.0/24"}]`,
		obs:     pod("192.0.2.10"),
		repairs: []string{"R1 interfaces[0] null>null", "R1 interfaces[2] null>null", "R1 interfaces[4] null>null", "R1 ips[0] null>null", "R1 ips[2] null>null", "R1 routes[0] null>null"},
	}),
	Entry("an index to a null counts as out of range", scene{
		prev:    `"interfaces":[{"name":"eth0","mac":"P","mtu":1450,"sandbox":"N"},null],"ips":[{"address":"192.0.2.10/32","interface":1}]`,
		want:    `"interfaces":[{"name":"eth0","mac":"P","mtu":1450,"sandbox":"N"}],"ips":[{"address":"192.0.2.10/32","interface":0}]`,
		obs:     pod("192.0.2.10"),
		repairs: []string{"R1 interfaces[1] null>null", "R7 ips[0].interface 1>0"},
	}),
	Entry("below 1.0.0, where the library's converter would panic", scene{
		version: "0.4.0",
		prev:    `"interfaces":[null,{"name":"eth0","mac":"P","sandbox":"N"}],"ips":[null,{"version":"4","address":"192.0.2.10/32","interface":1}],"routes":[null],"dns":{}`,
		want:    `"interfaces":[{"name":"eth0","mac":"P","sandbox":"N"}],"ips":[{"version":"4","address":"192.0.2.10/32","interface":0}],"dns":{}`,
		obs:     pod("192.0.2.10"),
		repairs: []string{"R1 interfaces[0] null>null", "R1 ips[0] null>null", "R1 routes[0] null>null"},
	}),
	Entry("an index past the list stays past it, and is dropped even when left alone", scene{
		prev:      `"interfaces":[null,{"name":"net1"}],"ips":[{"address":"192.0.2.10/32","interface":2},{"address":"192.0.2.11/32","interface":1}]`,
		want:      `"interfaces":[{"name":"net1"}],"ips":[{"address":"192.0.2.10/32"},{"address":"192.0.2.11/32","interface":0}]`,
		repairs:   []string{"R1 interfaces[0] null>null", "R7 ips[0].interface 2>null"},
		leftAlone: enrich.ErrLinkMissing,
	}),
)

// cali is what Calico up to v3.30 answers, in the call's version.
const cali = `"interfaces":[{"name":"cali0"}],"ips":[{"address":"192.0.2.10/32"}]`

func incomplete(addresses ...string) enrich.Observation {
	obs := pod(addresses...)
	obs.Link.AddressesComplete = false
	return obs
}

func withoutMAC() enrich.Observation {
	obs := pod("192.0.2.10")
	obs.Link.MAC = ""
	return obs
}

var _ = DescribeTable("R2 leaves alone what cannot be judged", play,
	Entry("no pod link", scene{prev: cali, leftAlone: enrich.ErrLinkMissing}),
	Entry("no pod link, but an entry: DPDK", scene{
		prev: `"interfaces":[{"name":"eth0","mac":"P","pciID":"0000:08:06.3","sandbox":"N"}]`, leftAlone: enrich.ErrNoNetdev,
	}),
	Entry("no 6-byte hardware address", scene{prev: cali, obs: withoutMAC(), leftAlone: enrich.ErrNoMAC}),
	Entry("an unreadable sandbox", scene{
		prev: cali, obs: enrich.Observation{Err: errors.New("gone")}, leftAlone: enrich.ErrUnreadable,
	}),
	Entry("a partial dump without the address", scene{
		prev: cali, obs: incomplete("198.51.100.1"), leftAlone: enrich.ErrIncomplete,
	}),
	Entry("neither interfaces nor ips", scene{
		prev: `"routes":[{"dst":"192.0.2.0/24"}]`, obs: pod("192.0.2.10"), leftAlone: enrich.ErrEmptyResult,
	}),
	Entry("private data in the mac of any entry", scene{
		prev:      `"interfaces":[{"name":"cali0"},{"name":"eth0","sandbox":"N"},{"name":"dummy0","mac":"0","sandbox":"0"}],"ips":[{"address":"192.0.2.10/32"}]`,
		obs:       pod("192.0.2.10"),
		leftAlone: enrich.ErrPrivateMAC,
	}),
	Entry("and still drops impossible indices", scene{
		prev:      `"interfaces":[{"name":"cali0"}],"ips":[{"address":"192.0.2.10/32","interface":1},{"address":"192.0.2.11/32","interface":-1},{"address":"192.0.2.12/32","interface":0}]`,
		want:      `"interfaces":[{"name":"cali0"}],"ips":[{"address":"192.0.2.10/32"},{"address":"192.0.2.11/32"},{"address":"192.0.2.12/32","interface":0}]`,
		obs:       enrich.Observation{Err: errors.New("gone")},
		repairs:   []string{"R7 ips[0].interface 1>null", "R7 ips[1].interface -1>null"},
		leftAlone: enrich.ErrUnreadable,
	}),
)

var _ = Describe("R2", func() {
	It("repairs on a partial dump that has every address, since nothing is concluded from it", func() {
		play(scene{
			prev:    cali,
			want:    `"interfaces":[{"name":"cali0"},{"name":"eth0","mac":"P","mtu":1450,"sandbox":"N"}],"ips":[{"address":"192.0.2.10/32","interface":1}]`,
			obs:     incomplete("192.0.2.10"),
			repairs: []string{"R6 interfaces[1] null>{name:eth0,mac:" + podMAC + ",mtu:1450,sandbox:" + netns + "}", "R7 ips[0].interface null>1"},
		})
	})
})

var _ = DescribeTable("R10 makes errors of what could not be seen",
	func(prev string, obs enrich.Observation, want error) {
		r := repaired(fill(`{"cniVersion":"1.0.0",`+prev+`}`), callOf("1.0.0"), obs)
		if want == nil {
			Expect(r.Failure()).NotTo(HaveOccurred())
		} else {
			Expect(r.Failure()).To(MatchError(want))
		}
	},
	Entry("unreadable", cali, enrich.Observation{Err: errors.New("gone")}, enrich.ErrUnreadable),
	Entry("incomplete", cali, incomplete(), enrich.ErrIncomplete),
	Entry("missing", cali, enrich.Observation{}, enrich.ErrLinkMissing),
	Entry("unreadable, whatever the Result says", `"dns":{}`, enrich.Observation{Err: errors.New("gone")}, enrich.ErrUnreadable),
	Entry("not a missing link with an entry of its name", `"interfaces":[{"name":"eth0","sandbox":"N"}]`, enrich.Observation{}, nil),
	Entry("not private data", `"interfaces":[{"name":"eth0","mac":"254","sandbox":"N"}]`, pod(), nil),
	Entry("not a repaired Result", cali, pod("192.0.2.10"), nil),
)

// own adds other spellings of the call's netns to an observation.
func own(obs enrich.Observation, spellings ...string) enrich.Observation {
	obs.OwnSandboxes = spellings
	return obs
}

var _ = DescribeTable("R3 finds the pod's entry", play,
	Entry("(a) before (b), (c) and (d), by another spelling of the namespace", scene{
		prev:    `"interfaces":[{"name":"eth0"},{"name":"eth0","sandbox":"/elsewhere"},{"name":"eth0","sandbox":"c-1"},{"name":"eth0","mac":"P","mtu":1450,"sandbox":"/run/netns/cni-5f71"}]`,
		want:    `"interfaces":[{"name":"eth0"},{"name":"eth0","sandbox":"/elsewhere"},{"name":"eth0","sandbox":"c-1"},{"name":"eth0","mac":"P","mtu":1450,"sandbox":"N"}]`,
		obs:     own(pod(), "/run/netns/cni-5f71"),
		repairs: []string{"R4 interfaces[3].sandbox /run/netns/cni-5f71>=N"},
	}),
	Entry("(b) the container ID without a mac, as Terway", scene{
		prev:    `"interfaces":[{"name":"eth0","sandbox":"/elsewhere"},{"name":"eth0","sandbox":"c-1"}]`,
		want:    `"interfaces":[{"name":"eth0","sandbox":"/elsewhere"},{"name":"eth0","mac":"P","mtu":1450,"sandbox":"N"}]`,
		obs:     pod(),
		repairs: []string{"R4 interfaces[1].sandbox c-1>=N", "R4 interfaces[1].mac null>=P", "R4 interfaces[1].mtu null>1450"},
	}),
	Entry("(b) the container ID with the pod link's mac in capitals", scene{
		version: "0.4.0",
		prev:    `"interfaces":[{"name":"eth0","mac":"3A:DD:BC:AD:13:95","sandbox":"c-1"}],"dns":{}`,
		want:    `"interfaces":[{"name":"eth0","mac":"P","sandbox":"N"}],"dns":{}`,
		obs:     pod(),
		repairs: []string{"R4 interfaces[0].sandbox c-1>=N", "R4 interfaces[0].mac 3A:DD:BC:AD:13:95>=P"},
	}),
	Entry("(c) the container ID with another mac: a VM's", scene{
		prev: `"interfaces":[{"name":"eth0","mac":"Q","sandbox":"c-1"}],"ips":[{"address":"192.0.2.10/32"}]`,
		obs:  pod("192.0.2.10"), leftAlone: enrich.ErrForeignSpelling,
	}),
	Entry("(c) an unknown spelling before (d)", scene{
		prev: `"interfaces":[{"name":"eth0"},{"name":"eth0","mac":"P","sandbox":"/host/var/run/netns/cni-5f71"},{"name":"net1","sandbox":"N"}],"ips":[{"address":"192.0.2.10/32"}]`,
		obs:  pod("192.0.2.10"), leftAlone: enrich.ErrForeignSpelling,
	}),
	Entry("(d) no mac", scene{
		version: "0.4.0",
		prev:    `"interfaces":[{"name":"cali0"},{"name":"eth0"}],"dns":{}`,
		want:    `"interfaces":[{"name":"cali0"},{"name":"eth0","mac":"P","sandbox":"N"}],"dns":{}`,
		obs:     pod(),
		repairs: []string{"R4 interfaces[1].sandbox null>=N", "R4 interfaces[1].mac null>=P"},
	}),
	Entry("(d) the pod link's mac", scene{
		version: "0.4.0",
		prev:    `"interfaces":[{"name":"cali0"},{"name":"eth0","mac":"P"}],"dns":{}`,
		want:    `"interfaces":[{"name":"cali0"},{"name":"eth0","mac":"P","sandbox":"N"}],"dns":{}`,
		obs:     pod(),
		repairs: []string{"R4 interfaces[1].sandbox null>=N"},
	}),
	Entry("(d) the only entry, with another mac, as Azure", scene{
		version: "0.4.0",
		prev:    `"interfaces":[{"name":"eth0","mac":"Q"}],"dns":{}`,
		want:    `"interfaces":[{"name":"eth0","mac":"P","sandbox":"N"}],"dns":{}`,
		obs:     pod(),
		repairs: []string{"R4 interfaces[0].sandbox null>=N", "R4 interfaces[0].mac =Q>=P"},
	}),
	Entry("(d) an address of the pod link is indexed to it", scene{
		version: "0.4.0",
		prev:    `"interfaces":[{"name":"cali0"},{"name":"eth0","mac":"Q"}],"ips":[{"version":"4","address":"192.0.2.10/16","interface":1}],"dns":{}`,
		want:    `"interfaces":[{"name":"cali0"},{"name":"eth0","mac":"P","sandbox":"N"}],"ips":[{"version":"4","address":"192.0.2.10/16","interface":1}],"dns":{}`,
		obs:     pod("192.0.2.10"),
		repairs: []string{"R4 interfaces[1].sandbox null>=N", "R4 interfaces[1].mac =Q>=P"},
	}),
	Entry("(d) not a host link of that name with another mac", scene{
		version: "0.4.0",
		prev:    `"interfaces":[{"name":"cali0"},{"name":"eth0","mac":"Q"}],"ips":[{"version":"4","address":"192.0.2.10/16"}],"dns":{}`,
		want:    `"interfaces":[{"name":"cali0"},{"name":"eth0","mac":"Q"},{"name":"eth0","mac":"P","sandbox":"N"}],"ips":[{"version":"4","address":"192.0.2.10/16","interface":2}],"dns":{}`,
		obs:     pod("192.0.2.10"),
		repairs: []string{"R6 interfaces[2] null>{name:eth0,mac:=P,sandbox:=N}", "R7 ips[0].interface null>2"},
	}),
)
