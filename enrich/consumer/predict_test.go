// SPDX-License-Identifier: Apache-2.0

package consumer_test

import (
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/enrich/consumer"
)

const (
	noAddress   = consumer.FaultNoAddress
	lost        = consumer.FaultLostAddress
	noInterface = consumer.FaultNoInterface
	extra       = consumer.FaultExtraEntry
	noGateway   = consumer.FaultNoGateway
)

var _ = DescribeTable("containerd",
	func(name, outcome string, podIPs []string, faults ...string) {
		p := of(consumer.NameContainerd, fixture(name))
		Expect(p.Outcome).To(Equal(outcome), p.Error)
		Expect(codes(p)).To(ConsistOf(faults))
		if outcome == consumer.OutcomeGood {
			Expect(p.View.(consumer.Containerd).PodIPs("eth0")).To(Equal(podIPs))
		}
	},
	Entry("gets the address by luck", "01_", "good", []string{"10.1.1.5"}, noInterface),
	Entry("has nothing to complain of", "02_", "good", []string{"10.1.1.5"}),
	Entry("takes an address without an index for eth0's", "03_", "good", []string{"10.1.1.5"}),
	Entry("gives the address to the host's interface", "04_", "good", nil, noAddress, lost),
	Entry("panics at an index that is the number of interfaces", "05_", "panic", nil),
	Entry("panics at a negative index", "18_", "panic", nil),
	Entry("misses a mac", "07_", "good", []string{"10.1.1.5"}, consumer.FaultNoMAC),
	Entry("leaves a machine's copy aside", "42_", "good", []string{"10.1.1.5"}),
)

var _ = DescribeTable("multus",
	func(name, annotation string, faults ...string) {
		p := of(consumer.NameMultus, fixture(name))
		Expect(p.Outcome).To(Equal("good"), p.Error)
		Expect(json.Marshal(p.View)).To(MatchJSON(annotation))
		Expect(codes(p)).To(ConsistOf(faults))
	},
	Entry("writes no interface and no mac", "01_",
		`[{"name":"net","ips":["10.1.1.5"],"default":true,"dns":{}}]`, noInterface),
	Entry("writes both", "02_",
		`[{"name":"net","interface":"eth0","ips":["10.1.1.5"],"mac":"aa:bb:cc:00:00:01","mtu":1450,"default":true,"dns":{}}]`),
	Entry("loses the address at a host's interface", "04_",
		`[{"name":"net","interface":"eth0","mac":"aa:bb:cc:00:00:01","mtu":1450,"default":true,"dns":{}}]`, lost),
	Entry("makes another interface the default", "09_",
		`[{"name":"net","interface":"eth0","ips":["10.1.1.5"],"mac":"aa:bb:cc:00:00:01","mtu":1450,"dns":{}},
		  {"name":"net","interface":"net1","ips":["192.168.9.5"],"mac":"aa:bb:cc:00:00:02","mtu":1500,"default":true,"dns":{}}]`, extra),
	Entry("writes <nil> for a default route without a gateway", "12_",
		`[{"name":"net","interface":"eth0","ips":["10.1.1.5"],"mac":"aa:bb:cc:00:00:01","mtu":1450,"default":true,"dns":{},"gateway":["<nil>"]}]`, noGateway),
	Entry("takes half of the Internet for a default route", "13_",
		`[{"name":"net","interface":"eth0","ips":["10.1.1.5"],"mac":"aa:bb:cc:00:00:01","mtu":1450,"default":true,"dns":{},"gateway":["10.1.1.1"]}]`),
	Entry("has no default and no address", "14_",
		`[{"name":"net","interface":"eth0","mac":"aa:bb:cc:00:00:01","mtu":1450,"dns":{}}]`, consumer.FaultNoDefault, lost),
	Entry("leaves the network out", "15_", `null`, noInterface),
	Entry("leaves the network out for two host interfaces", "20_", `null`, noInterface),
)

var _ = DescribeTable("firecracker",
	func(name, outcome, boot string, faults ...string) {
		p := of(consumer.NameFirecracker, fixture(name))
		Expect(p.Outcome).To(Equal(outcome), p.Error)
		Expect(codes(p)).To(ConsistOf(faults))
		if outcome == consumer.OutcomeGood {
			Expect(p.View.(consumer.Firecracker).BootParameter()).To(Equal(boot))
			Expect(p.View).To(And(HaveField("Tap", "tap0"), HaveField("Netns", recorded.Netns)))
		}
	},
	Entry("would find nothing to copy", "01_", "error", "", noAddress),
	Entry("would find one address to copy", "02_", "error", ""),
	Entry("would find none without an index", "03_", "error", "", noAddress),
	Entry("would find two", "10_", "error", "", extra),
	Entry("would not survive the next plugin", "05_", "error", "", consumer.FaultPanic),
	Entry("has a gateway that is text", "30_", "good", "10.1.1.5::<nil>:255.255.255.255:::off:::", noGateway),
	Entry("finds no address for the machine", "31_", "error", ""),
	Entry("finds no pair", "32_", "error", ""),
	Entry("finds two taps", "33_", "error", ""),
	Entry("finds the address at the pod", "34_", "error", ""),
	Entry("finds two addresses", "37_", "error", ""),
	Entry("works", "42_", "good", "10.1.1.5::169.254.1.1:255.255.255.255:::off:::"),
)

var _ = DescribeTable("nomad",
	func(name, outcome string, want consumer.Nomad, faults ...string) {
		p := of(consumer.NameNomad, fixture(name))
		Expect(p.Outcome).To(Equal(outcome), p.Error)
		Expect(p.ByReading).To(BeTrue())
		Expect(codes(p)).To(ConsistOf(faults))
		if outcome == consumer.OutcomeGood {
			Expect(p.View).To(Equal(want))
		}
	},
	Entry("falls back", "01_", "good", consumer.Nomad{Interface: "eth0", Address: "10.1.1.5", Fallback: true}, noInterface),
	Entry("finds the interface", "02_", "good", consumer.Nomad{Interface: "eth0", Address: "10.1.1.5"}),
	Entry("takes the host's", "04_", "good", consumer.Nomad{Interface: "cali123", Address: "10.1.1.5", Fallback: true}, consumer.FaultWrongInterface),
	Entry("dies with go-cni", "05_", "panic", consumer.Nomad{}),
	Entry("has both families", "16_", "good", consumer.Nomad{Interface: "eth0", Address: "10.1.1.5", AddressIPv6: "fd00::5"}),
)

var _ = Describe("a Result", func() {
	all := func(raw string, c consumer.Context) []string {
		var outcomes []string
		for _, p := range consumer.Predict([]byte(raw), c) {
			outcomes = append(outcomes, p.Outcome)
		}
		return outcomes
	}

	It("with a null interface is everyone's panic, in every version", func() {
		for _, version := range []string{"0.3.1", "1.0.0"} {
			Expect(all(`{"cniVersion":"`+version+`","interfaces":[null]}`, recorded)).
				To(Equal([]string{"panic", "panic", "panic", "panic"}), version)
		}
	})

	It("with a null address is go-cni's error and multus's panic", func() {
		Expect(all(`{"cniVersion":"1.0.0","interfaces":[{"name":"a"}],"ips":[null]}`, recorded)).
			To(Equal([]string{"error", "panic", "error", "error"}))
	})

	It("with a null route is multus's panic only", func() {
		Expect(all(`{"cniVersion":"0.4.0","interfaces":[{"name":"eth0","sandbox":"/n"}],
			"ips":[{"version":"4","interface":0,"address":"10.0.0.1/24"}],"routes":[null]}`, recorded)).
			To(Equal([]string{"good", "panic", "error", "good"}))
	})

	It("without a version has the configuration's", func() {
		c := recorded
		c.CNIVersion = "0.3.1"
		raw := `{"interfaces":[{"name":"eth0","mtu":9000,"sandbox":"/n"}],"ips":[]}`
		result, err := consumer.Decode([]byte(raw), "0.3.1")
		Expect(err).NotTo(HaveOccurred())
		Expect(result.Interfaces[0].Mtu).To(BeZero(), "0.3.1 has no mtu")
	})

	DescribeTable("that libcni does not decode is everyone's error", func(raw string) {
		Expect(all(raw, recorded)).To(Equal([]string{"error", "error", "error", "error"}))
	},
		Entry("no JSON", `{`),
		Entry("no object", `[]`),
		Entry("an unknown version", `{"cniVersion":"9.0.0"}`),
		Entry("an address that is none", `{"cniVersion":"1.0.0","ips":[{"address":"x"}]}`),
	)
})

var _ = It("predicts an interface of another name as its own runtime's", func() {
	c := recorded
	c.IfName, c.Secondary = "net1", true
	for _, p := range consumer.Predict([]byte(`{"cniVersion":"1.0.0","interfaces":[{"name":"net1","mac":"02:00:00:00:00:01",
		"sandbox":"/n"},{"name":"host1"}],"ips":[{"interface":0,"address":"10.0.0.1/24"}]}`), c) {
		if p.Consumer != consumer.NameFirecracker {
			Expect(p.Faults).To(BeEmpty(), p.Consumer)
		}
	}
})
