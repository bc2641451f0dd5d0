// SPDX-License-Identifier: Apache-2.0

package microvm_test

import (
	"encoding/json"
	"net/netip"
	"testing"

	"github.com/containernetworking/cni/pkg/types"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/enrich/attachment"
	"github.com/result-enricher/result-enricher/enrichctl/internal/microvm"
)

func TestMicroVM(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "microvm")
}

func address(prefix, gateway string) attachment.Address {
	a := attachment.Address{Prefix: netip.MustParsePrefix(prefix)}
	if gateway != "" {
		a.Gateway = netip.MustParseAddr(gateway)
	}
	return a
}

// vm is an attachment that leaves nothing to say.
func vm(addresses ...attachment.Address) attachment.Attachment {
	return attachment.Attachment{
		ContainerID: "vm-1", Interface: "eth0", Netns: "/run/netns/vm-1", MAC: "02:00:00:00:00:01", MTU: 1450,
		Addresses: addresses, DNS: types.DNS{Nameservers: []string{"192.0.2.53"}},
		Tap: &attachment.Tap{Name: "tap0", MTU: 1400, GuestMAC: "02:00:00:00:00:02"},
	}
}

var _ = Describe("a machine's configuration", func() {
	It("has the tap, the guest's MAC and the address as they are", func() {
		c, notes, err := microvm.From(vm(address("192.0.2.10/24", "192.0.2.1")))
		Expect(err).NotTo(HaveOccurred())
		Expect(notes).To(BeEmpty())
		Expect(json.Marshal(c)).To(MatchJSON(`{"HostDevName":"tap0","MacAddress":"02:00:00:00:00:02","IPConfiguration":
			{"IPAddr":{"IP":"192.0.2.10","Mask":"////AA=="},"Gateway":"192.0.2.1","Nameservers":["192.0.2.53"],"IfName":""},
			"Netns":"/run/netns/vm-1","MTU":1400,"KernelArgument":"ip=192.0.2.10::192.0.2.1:255.255.255.0:::off:192.0.2.53::"}`))
	})

	DescribeTable("translates a gateway that is on no subnet, and says so",
		func(prefix, wantMask, wantGateway string) {
			c, notes, err := microvm.From(vm(address(prefix, "169.254.1.1")))
			Expect(err).NotTo(HaveOccurred())
			Expect(c.KernelArgument).To(Equal("ip=" + netip.MustParsePrefix(prefix).Addr().String() + "::" + wantGateway + ":" + wantMask + ":::off:192.0.2.53::"))
			Expect(c.Translated).To(Equal(&microvm.Original{
				Address: netip.MustParsePrefix(prefix), Gateway: netip.MustParseAddr("169.254.1.1"),
			}))
			Expect(notes).To(ConsistOf(And(ContainSubstring(prefix), ContainSubstring("169.254.1.1"), ContainSubstring(wantGateway))))
		},
		Entry("the first host of four", "10.1.1.5/32", "255.255.255.252", "10.1.1.6"),
		Entry("the second host of four", "10.1.1.6/32", "255.255.255.252", "10.1.1.5"),
		Entry("the first of four", "10.1.1.4/32", "255.255.255.248", "10.1.1.1"),
		Entry("the last of four", "10.1.1.7/32", "255.255.255.240", "10.1.1.1"),
		Entry("the last of eight, at a border of sixteen", "10.1.1.15/32", "255.255.255.224", "10.1.1.1"),
		Entry("the first of 256", "10.1.1.0/32", "255.255.254.0", "10.1.0.1"),
	)

	DescribeTable("says what is not as it should be", func(change func(*attachment.Attachment), note string) {
		a := vm(address("192.0.2.10/24", "192.0.2.1"))
		change(&a)
		_, notes, err := microvm.From(a)
		Expect(err).NotTo(HaveOccurred())
		Expect(notes).To(ConsistOf(ContainSubstring(note)))
	},
		Entry("no tap", func(a *attachment.Attachment) { a.Tap = nil }, "HostDevName is empty"),
		Entry("no gateway", func(a *attachment.Attachment) { a.Addresses[0] = address("192.0.2.10/24", "") }, "only 192.0.2.0/24"),
		Entry("a gateway elsewhere", func(a *attachment.Attachment) { a.Addresses[0] = address("192.0.2.10/32", "192.0.2.1") }, "refuses it"),
		Entry("three nameservers", func(a *attachment.Attachment) {
			a.DNS.Nameservers = []string{"192.0.2.53", "192.0.2.54", "192.0.2.55"}
		}, "192.0.2.55"),
		Entry("IPv6 besides", func(a *attachment.Attachment) {
			a.Addresses = append(a.Addresses, address("2001:db8::1/64", "fe80::1"))
		}, "beside 192.0.2.10"),
	)

	It("has the interface's MAC where there is no tap, and no text for a gateway that is not there", func() {
		a := vm(address("192.0.2.10/24", ""))
		a.Tap = nil
		c, _, err := microvm.From(a)
		Expect(err).NotTo(HaveOccurred())
		Expect([]any{c.HostDevName, c.MacAddress, c.MTU}).To(Equal([]any{"", "02:00:00:00:00:01", 1450}))
		Expect(c.KernelArgument).To(Equal("ip=192.0.2.10:::255.255.255.0:::off:192.0.2.53::"))
		document, err := json.Marshal(c)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(document)).NotTo(ContainSubstring("Gateway"))
	})

	It("ends for an address that is nobody's", func() {
		c, _, err := microvm.From(vm(address("255.255.255.255/32", "169.254.1.1")))
		Expect(err).NotTo(HaveOccurred())
		Expect(c.IPConfiguration.Gateway).To(BeNil())
	})

	It("is none without IPv4", func() {
		_, _, err := microvm.From(vm(address("2001:db8::1/64", "fe80::1")))
		Expect(err).To(MatchError(microvm.ErrNoIPv4))
	})
})
