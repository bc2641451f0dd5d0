// SPDX-License-Identifier: Apache-2.0

package enrich_test

import (
	"net/netip"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/enrich"
)

func virtualFunction() enrich.Observation {
	obs := pod()
	obs.Link.ParentDevice = true
	return obs
}

var _ = DescribeTable("R4 completes the pod's entry", play,
	Entry("mac and mtu where they are missing", scene{
		prev:    `"interfaces":[{"name":"eth0","sandbox":"N"}]`,
		want:    `"interfaces":[{"name":"eth0","mac":"P","mtu":1450,"sandbox":"N"}]`,
		obs:     pod(),
		repairs: []string{"R4 interfaces[0].mac null>=P", "R4 interfaces[0].mtu null>1450"},
	}),
	Entry("a wrong mtu and a stale mac", scene{
		prev:    `"interfaces":[{"name":"eth0","mac":"Q","mtu":1500,"sandbox":"N"}]`,
		want:    `"interfaces":[{"name":"eth0","mac":"P","mtu":1450,"sandbox":"N"}]`,
		obs:     pod(),
		repairs: []string{"R4 interfaces[0].mac =Q>=P", "R4 interfaces[0].mtu 1500>1450"},
	}),
	Entry("another spelling of the mac, since CHECK compares strings", scene{
		version: "0.4.0",
		prev:    `"interfaces":[{"name":"eth0","mac":"3A-DD-BC-AD-13-95","sandbox":"N"}],"dns":{}`,
		want:    `"interfaces":[{"name":"eth0","mac":"P","sandbox":"N"}],"dns":{}`,
		obs:     pod(),
		repairs: []string{"R4 interfaces[0].mac 3A-DD-BC-AD-13-95>=P"},
	}),
	Entry("not the mac of a link with a parent device, which may be set late", scene{
		prev:    `"interfaces":[{"name":"eth0","mac":"Q","mtu":1500,"sandbox":"N"}]`,
		want:    `"interfaces":[{"name":"eth0","mac":"Q","mtu":1450,"sandbox":"N"}]`,
		obs:     virtualFunction(),
		repairs: []string{"R4 interfaces[0].mtu 1500>1450"},
	}),
	Entry("but a missing one even then", scene{
		version: "0.4.0",
		prev:    `"interfaces":[{"name":"eth0","sandbox":"N"}],"dns":{}`,
		want:    `"interfaces":[{"name":"eth0","mac":"P","sandbox":"N"}],"dns":{}`,
		obs:     virtualFunction(),
		repairs: []string{"R4 interfaces[0].mac null>=P"},
	}),
	Entry("pciID and socketPath stay", scene{
		prev:    `"interfaces":[{"name":"eth0","pciID":"0000:08:06.3","socketPath":"/run/s","sandbox":"N"}]`,
		want:    `"interfaces":[{"name":"eth0","mac":"P","mtu":1450,"pciID":"0000:08:06.3","socketPath":"/run/s","sandbox":"N"}]`,
		obs:     pod(),
		repairs: []string{"R4 interfaces[0].mac null>=P", "R4 interfaces[0].mtu null>1450"},
	}),
)

// beside adds other links' hardware addresses to an observation.
func beside(obs enrich.Observation, macs map[string]string) enrich.Observation {
	obs.MACs = macs
	return obs
}

var _ = DescribeTable("R5 gives other entries of the sandbox a missing mac", play,
	Entry("whose link exists, and no others", scene{
		prev: `"interfaces":[{"name":"host0"},{"name":"eth0","mac":"P","mtu":1450,"sandbox":"N"},{"name":"net1","sandbox":"N"},{"name":"gone","sandbox":"N"},{"name":"net1","sandbox":"vm-1"}]`,
		want: `"interfaces":[{"name":"host0"},{"name":"eth0","mac":"P","mtu":1450,"sandbox":"N"},{"name":"net1","mac":"Q","sandbox":"N"},{"name":"gone","sandbox":"N"},{"name":"net1","sandbox":"vm-1"}]`,
		obs:  beside(pod(), map[string]string{"net1": otherMAC, "host0": otherMAC}), repairs: []string{"R5 interfaces[2].mac null>=Q"},
	}),
	Entry("without a pod's entry, and appends none", scene{
		prev: `"interfaces":[{"name":"net1","sandbox":"/run/netns/cni-5f71"}],"ips":[{"address":"192.0.2.10/32"}]`,
		want: `"interfaces":[{"name":"net1","mac":"Q","sandbox":"/run/netns/cni-5f71"}],"ips":[{"address":"192.0.2.10/32"}]`,
		obs:  own(beside(pod("192.0.2.10"), map[string]string{"net1": otherMAC}), "/run/netns/cni-5f71"), repairs: []string{"R5 interfaces[0].mac null>=Q"},
	}),
	Entry("not over a mac that differs", scene{
		prev: `"interfaces":[{"name":"eth0","mac":"P","mtu":1450,"sandbox":"N"},{"name":"net1","mac":"P","sandbox":"N"}]`,
		obs:  beside(pod(), map[string]string{"net1": otherMAC}),
	}),
	Entry("the pod link's to a second entry of its name", scene{
		prev: `"interfaces":[{"name":"eth0","mac":"P","mtu":1450,"sandbox":"N"},{"name":"eth0","sandbox":"N"}]`,
		want: `"interfaces":[{"name":"eth0","mac":"P","mtu":1450,"sandbox":"N"},{"name":"eth0","mac":"P","sandbox":"N"}]`,
		obs:  pod(), repairs: []string{"R5 interfaces[1].mac null>=P"},
	}),
)

var _ = DescribeTable("R6 appends the pod's entry with its indices, or not at all", play,
	Entry("behind the host's entries", scene{
		version: "0.3.1",
		prev:    `"interfaces":[{"name":"cali0"},{"name":"ifb0","mac":"Q"}],"ips":[{"version":"4","address":"192.0.2.10/32"},{"version":"6","address":"2001:db8::10/128"}],"dns":{}`,
		want:    `"interfaces":[{"name":"cali0"},{"name":"ifb0","mac":"Q"},{"name":"eth0","mac":"P","sandbox":"N"}],"ips":[{"version":"4","address":"192.0.2.10/32","interface":2},{"version":"6","address":"2001:db8::10/128","interface":2}],"dns":{}`,
		obs:     pod("192.0.2.10", "2001:db8::10"),
		repairs: []string{"R6 interfaces[2] null>{name:eth0,mac:=P,sandbox:=N}", "R7 ips[0].interface null>2", "R7 ips[1].interface null>2"},
	}),
	Entry("without addresses: a link of layer 2", scene{
		version: "0.4.0",
		prev:    `"interfaces":[{"name":"cali0"}],"dns":{}`,
		want:    `"interfaces":[{"name":"cali0"},{"name":"eth0","mac":"P","sandbox":"N"}],"dns":{}`,
		obs:     pod(),
		repairs: []string{"R6 interfaces[1] null>{name:eth0,mac:=P,sandbox:=N}"},
	}),
	Entry("an index that would have become right by the appending is out of range all the same", scene{
		version: "0.4.0",
		prev:    `"interfaces":[{"name":"cali0"}],"ips":[{"version":"4","address":"192.0.2.10/32","interface":1}],"dns":{}`,
		want:    `"interfaces":[{"name":"cali0"},{"name":"eth0","mac":"P","sandbox":"N"}],"ips":[{"version":"4","address":"192.0.2.10/32","interface":1}],"dns":{}`,
		obs:     pod("192.0.2.10"),
		repairs: []string{"R6 interfaces[1] null>{name:eth0,mac:=P,sandbox:=N}"},
	}),
	Entry("not beside an entry of any sandbox", scene{
		prev: `"interfaces":[{"name":"cali0"},{"name":"tap0","mac":"Q","sandbox":"vm-1"}],"ips":[{"address":"192.0.2.10/32"}]`,
		obs:  pod("192.0.2.10"),
	}),
	Entry("not when an address stays at a host entry", scene{
		prev: `"interfaces":[{"name":"cali0"}],"ips":[{"address":"192.0.2.10/32"},{"address":"192.0.2.44/32","interface":0}]`,
		obs:  pod("192.0.2.10"), leftAlone: enrich.ErrUnowned,
	}),
	Entry("not when an address stays without index", scene{
		prev: `"interfaces":[{"name":"cali0"}],"ips":[{"address":"192.0.2.10/32"},{"address":"192.0.2.44/32"}]`,
		obs:  pod("192.0.2.10"), leftAlone: enrich.ErrUnowned,
	}),
	Entry("not for the unspecified address", scene{
		prev: `"ips":[{"address":"0.0.0.0/0","gateway":"0.0.0.0"}]`,
		obs:  pod("192.0.2.10"), leftAlone: enrich.ErrUnowned,
	}),
)

var _ = DescribeTable("R7 sets indices", play,
	Entry("negative, past the end and missing ones, whatever the prefix length", scene{
		version: "0.4.0",
		prev:    `"interfaces":[{"name":"eth0","mac":"P","sandbox":"N"}],"ips":[{"version":"4","address":"192.0.2.10/24","interface":-1},{"version":"4","address":"192.0.2.11/24","interface":1},{"version":"6","address":"2001:db8::10/64"}],"dns":{}`,
		want:    `"interfaces":[{"name":"eth0","mac":"P","sandbox":"N"}],"ips":[{"version":"4","address":"192.0.2.10/24","interface":0},{"version":"4","address":"192.0.2.11/24","interface":0},{"version":"6","address":"2001:db8::10/64","interface":0}],"dns":{}`,
		obs:     pod("192.0.2.10", "192.0.2.11", "2001:db8::10"),
		repairs: []string{"R7 ips[0].interface -1>0", "R7 ips[1].interface 1>0", "R7 ips[2].interface null>0"},
	}),
	Entry("from a host entry to the pod's, for the pod link's addresses only", scene{
		version: "0.4.0",
		prev:    `"interfaces":[{"name":"cali0"},{"name":"eth0","mac":"P","sandbox":"N"}],"ips":[{"version":"4","address":"192.0.2.10/32","interface":0},{"version":"4","address":"192.0.2.44/32","interface":0}],"dns":{}`,
		want:    `"interfaces":[{"name":"cali0"},{"name":"eth0","mac":"P","sandbox":"N"}],"ips":[{"version":"4","address":"192.0.2.10/32","interface":1},{"version":"4","address":"192.0.2.44/32","interface":0}],"dns":{}`,
		obs:     pod("192.0.2.10"),
		repairs: []string{"R7 ips[0].interface 0>1"},
	}),
	Entry("IPv4 in IPv6 form is the same address", scene{
		version: "0.4.0",
		prev:    `"interfaces":[{"name":"eth0","mac":"P","sandbox":"N"},{"name":"net1","mac":"Q","sandbox":"N"}],"ips":[{"version":"4","address":"::ffff:192.0.2.10/128"}],"dns":{}`,
		want:    `"interfaces":[{"name":"eth0","mac":"P","sandbox":"N"},{"name":"net1","mac":"Q","sandbox":"N"}],"ips":[{"version":"4","address":"192.0.2.10/32","interface":0}],"dns":{}`,
		obs:     pod("192.0.2.10"),
		repairs: []string{"R7 ips[0].interface null>0"},
	}),
	Entry("every missing one, when the pod's entry is alone in a sandbox and owns none", scene{
		version: "0.4.0",
		prev:    `"interfaces":[{"name":"cali0"},{"name":"eth0","mac":"P","sandbox":"N"}],"ips":[{"version":"4","address":"192.0.2.10/32"},{"version":"4","address":"0.0.0.0/0"},{"version":"6","address":"::/0"}],"dns":{}`,
		want:    `"interfaces":[{"name":"cali0"},{"name":"eth0","mac":"P","sandbox":"N"}],"ips":[{"version":"4","address":"192.0.2.10/32","interface":1},{"version":"4","address":"0.0.0.0/0"},{"version":"6","address":"::/0"}],"dns":{}`,
		obs:     pod(),
		repairs: []string{"R7 ips[0].interface null>1"},
	}),
	Entry("no more once it owns one", scene{
		prev: `"interfaces":[{"name":"eth0","mac":"P","mtu":1450,"sandbox":"N"}],"ips":[{"address":"192.0.2.10/32","interface":0},{"address":"192.0.2.44/32"}]`,
		obs:  pod("192.0.2.10"),
	}),
	Entry("no more beside another sandbox", scene{
		prev: `"interfaces":[{"name":"eth0","mac":"P","mtu":1450,"sandbox":"N"},{"name":"tap0","mac":"Q","sandbox":"vm-1"}],"ips":[{"address":"192.0.2.44/32"}]`,
		obs:  pod("192.0.2.10"),
	}),
	Entry("the same address twice stays where it is: a VM's", scene{
		prev: `"interfaces":[{"name":"eth0","mac":"P","mtu":1450,"sandbox":"N"},{"name":"tap0","mac":"P","sandbox":"c-1"}],"ips":[{"address":"192.0.2.10/32","interface":0},{"address":"192.0.2.10/32","interface":1}]`,
		obs:  pod("192.0.2.10"),
	}),
)

// routed adds default routes to an observation.
func routed(obs enrich.Observation, routes ...enrich.DefaultRoute) enrich.Observation {
	obs.Link.DefaultRoutes = routes
	return obs
}

func via(hop string, metric int) enrich.DefaultRoute {
	addr := netip.MustParseAddr(hop)
	return enrich.DefaultRoute{IPv6: addr.Is6(), NextHop: addr, Metric: metric}
}

const addressed = `"interfaces":[{"name":"cali0"},{"name":"eth0","mac":"P","mtu":1450,"sandbox":"N"}],`

var _ = DescribeTable("R8 fills gateways on request", play,
	Entry("of each family by the lowest metric, and routes stay", scene{
		prev:    addressed + `"ips":[{"address":"192.0.2.10/32","interface":1},{"address":"2001:db8::10/128","interface":1}],"routes":[{"dst":"0.0.0.0/0"}]`,
		want:    addressed + `"ips":[{"address":"192.0.2.10/32","interface":1,"gateway":"169.254.1.1"},{"address":"2001:db8::10/128","interface":1,"gateway":"fe80::1"}],"routes":[{"dst":"0.0.0.0/0"}]`,
		obs:     routed(pod("192.0.2.10", "2001:db8::10"), via("192.0.2.254", 100), via("fe80::2", 2048), via("169.254.1.1", 0), via("fe80::1", 1024)),
		opts:    enrich.Options{Gateways: true},
		repairs: []string{"R8 ips[0].gateway null>169.254.1.1", "R8 ips[1].gateway null>fe80::1"},
	}),
	Entry("not over a value, 0.0.0.0 and :: included", scene{
		prev: addressed + `"ips":[{"address":"192.0.2.10/32","interface":1,"gateway":"0.0.0.0"},{"address":"2001:db8::10/128","interface":1,"gateway":"::"}]`,
		obs:  routed(pod("192.0.2.10", "2001:db8::10"), via("169.254.1.1", 0), via("fe80::1", 1024)),
		opts: enrich.Options{Gateways: true},
	}),
	Entry("not for addresses of other entries", scene{
		prev: addressed + `"ips":[{"address":"192.0.2.44/32","interface":0},{"address":"192.0.2.10/32","interface":1,"gateway":"192.0.2.1"}]`,
		obs:  routed(pod("192.0.2.10"), via("169.254.1.1", 0)),
		opts: enrich.Options{Gateways: true},
	}),
	Entry("not when the route in use has no next hop", scene{
		prev: addressed + `"ips":[{"address":"192.0.2.10/32","interface":1}]`,
		obs:  routed(pod("192.0.2.10"), via("169.254.1.1", 10), enrich.DefaultRoute{Metric: 0}),
		opts: enrich.Options{Gateways: true},
	}),
	Entry("not unasked", scene{
		prev: addressed + `"ips":[{"address":"192.0.2.10/32","interface":1}]`,
		obs:  routed(pod("192.0.2.10"), via("169.254.1.1", 0)),
	}),
)

var _ = Describe("R9", func() {
	const right = `"interfaces":[{"name":"eth0","mac":"P","mtu":9000,"sandbox":"N"}],"dns":{}}`

	It("leaves a Result below 1.0.0 in its bytes, whatever mtu it has", func() {
		prev := fill(`{"cniVersion":"0.4.0",` + right)
		r := repaired(prev, callOf("0.4.0"), pod())
		Expect(string(r.document)).To(Equal(prev))
	})

	It("drops the mtu when a Result is converted below 1.0.0", func() {
		r := repaired(fill(`{"cniVersion":"1.0.0",`+right), callOf("0.4.0"), pod())
		Expect(r.document).To(MatchJSON(fill(`{"cniVersion":"0.4.0","interfaces":[{"name":"eth0","mac":"P","sandbox":"N"}],"dns":{}}`)))
		Expect(r.Repairs).To(BeEmpty())
	})

	It("fills it when a Result is converted to 1.0.0", func() {
		r := repaired(fill(`{"cniVersion":"0.4.0","interfaces":[{"name":"eth0","mac":"P","sandbox":"N"}],"dns":{}}`), callOf("1.0.0"), pod())
		Expect(r.document).To(MatchJSON(fill(`{"cniVersion":"1.0.0","interfaces":[{"name":"eth0","mac":"P","mtu":1450,"sandbox":"N"}]}`)))
		Expect(brief(r.Repairs)).To(Equal([]string{"R4 interfaces[0].mtu null>1450"}))
	})
})
