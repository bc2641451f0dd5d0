// SPDX-License-Identifier: Apache-2.0

package enrich_test

import (
	"encoding/json"

	types100 "github.com/containernetworking/cni/pkg/types/100"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/enrich"
)

var _ = Describe("Parse", func() {
	DescribeTable("refuses what could not be given back as it was",
		func(prev, complaint string) {
			_, err := enrich.Parse([]byte(prev), "1.0.0")
			Expect(err).To(MatchError(ContainSubstring(complaint)))
		},
		Entry("no object", `[]`, "decode prevResult"),
		Entry("null", `null`, "null is no Result"),
		Entry("a version that the library does not know", `{"cniVersion":"9.9.9"}`, `"9.9.9"`),
		Entry("a version that is none", `{"cniVersion":7}`, "cniVersion"),
		Entry("an address that is missing", `{"cniVersion":"1.0.0","ips":[{"interface":0}]}`, "ips[0] has no usable address"),
		Entry("an address that is none", `{"cniVersion":"1.0.0","ips":[{"address":"192.0.2.1"}]}`, "192.0.2.1"),
		Entry("an IPv4 network in IPv6 form that would lose its prefix", `{"cniVersion":"1.0.0","ips":[{"address":"::ffff:192.0.2.1/64"}]}`, "ips[0] has no usable address"),
		Entry("a route without dst", `{"cniVersion":"1.0.0","routes":[{"gw":"192.0.2.1"}]}`, "routes[0] has no usable dst"),
		Entry("an index that is no integer", `{"cniVersion":"1.0.0","ips":[{"address":"192.0.2.1/32","interface":1.5}]}`, "interface"),
		Entry("bytes that are no UTF-8", "{\"cniVersion\":\"1.0.0\",\"interfaces\":[{\"name\":\"a\xff\"}]}", "UTF-8"),
	)

	It("takes the configuration's version for a Result without one, and remembers that it had none", func() {
		prev, err := enrich.Parse([]byte(`{"interfaces":[{"name":"cali0"}],"ips":[{"version":"4","address":"192.0.2.10/32"}]}`), "0.3.1")
		Expect(err).NotTo(HaveOccurred())
		Expect(prev.Version).To(BeEmpty())
		Expect(prev.Result.Interfaces).To(HaveExactElements(HaveField("Name", "cali0")))
		Expect(prev.Result.IPs).To(HaveLen(1))
	})

	It("reads a Result of 0.2.0", func() {
		prev, err := enrich.Parse([]byte(`{"cniVersion":"0.2.0","ip4":{"ip":"192.0.2.10/24","gateway":"192.0.2.1"}}`), "1.0.0")
		Expect(err).NotTo(HaveOccurred())
		Expect(prev.Result.IPs).To(HaveExactElements(WithTransform(func(ip *types100.IPConfig) string { return ip.Address.String() }, Equal("192.0.2.10/24"))))
	})
})

var _ = Describe("Apply", func() {
	It("does not change its input, not even between 1.0.0 and 1.1.0", func() {
		const raw = `{"cniVersion":"1.1.0","interfaces":[{"name":"cali0"},{"name":"eth0"}],"ips":[{"address":"192.0.2.10/32","interface":7}],"routes":[{"dst":"0.0.0.0/0","mtu":1400,"priority":5,"table":254,"scope":0}],"dns":{"nameservers":["192.0.2.53"]}}`
		prev, err := enrich.Parse([]byte(raw), "1.0.0")
		Expect(err).NotTo(HaveOccurred())
		before, err := json.Marshal(prev.Result)
		Expect(err).NotTo(HaveOccurred())

		outcome := enrich.Apply(prev, callOf("1.0.0"), pod("192.0.2.10"), enrich.Options{})
		Expect(outcome.Repairs).NotTo(BeEmpty())
		outcome.Result.Routes[0].Priority = 6
		outcome.Result.DNS.Nameservers[0] = "192.0.2.54"
		outcome.Result.Interfaces[0].Name = "cali1"
		*outcome.Result.IPs[0].Interface = 0

		after, err := json.Marshal(prev.Result)
		Expect(err).NotTo(HaveOccurred())
		Expect(after).To(Equal(before))
	})

	It("keeps the fields of routes that 1.1.0 has", func() {
		const routes = `"routes":[{"dst":"0.0.0.0/0","gw":"192.0.2.1","mtu":1400,"advmss":1360,"priority":5,"table":254,"scope":253}]`
		play(scene{
			version: "1.1.0",
			prev:    `"interfaces":[{"name":"eth0","sandbox":"N"}],` + routes,
			want:    `"interfaces":[{"name":"eth0","mac":"P","mtu":1450,"sandbox":"N"}],` + routes,
			obs:     pod(),
			repairs: []string{"R4 interfaces[0].mac null>=P", "R4 interfaces[0].mtu null>1450"},
		})
	})
})

var _ = DescribeTable("what the sandbox is asked",
	func(interfaces string, spellings, links, sandboxes []string) {
		prev, err := enrich.Parse([]byte(fill(`{"cniVersion":"1.0.0","interfaces":[`+interfaces+`]}`)), "1.0.0")
		Expect(err).NotTo(HaveOccurred())
		Expect(enrich.LinksWanted(prev, callOf("1.0.0"), spellings)).To(ConsistOf(links))
		Expect(enrich.OtherSandboxes(prev, callOf("1.0.0"))).To(ConsistOf(sandboxes))
	},
	Entry("nothing for a complete Result", `{"name":"cali0"},{"name":"eth0","mac":"P","sandbox":"N"}`, nil, []string{}, []string{}),
	Entry("each link without a mac once, but the pod link", `{"name":"net1","sandbox":"N"},{"name":"net1","sandbox":"N"},{"name":"net2","mac":"Q","sandbox":"N"},{"name":"eth0","sandbox":"N"}`,
		nil, []string{"net1"}, []string{}),
	Entry("paths that may be the namespace, no others", `{"name":"net1","sandbox":"/a"},{"name":"net2","sandbox":"/a"},{"name":"net3","sandbox":"vm-1"},{"name":"net4","sandbox":"/b"}`,
		[]string{"/b"}, []string{"net4"}, []string{"/a", "/b"}),
)
