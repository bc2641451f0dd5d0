// SPDX-License-Identifier: Apache-2.0

package enrich_test

import (
	"encoding/json"
	"net"
	"reflect"

	"github.com/containernetworking/cni/pkg/types"
	types100 "github.com/containernetworking/cni/pkg/types/100"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/enrich"
)

var _ = Describe("Encode", func() {
	It("leaves the Result as it is", func() {
		result := &types100.Result{CNIVersion: "1.0.0", Interfaces: []*types100.Interface{{Name: "eth0"}}}
		raw, err := enrich.Encode(result, "0.4.0")
		Expect(err).NotTo(HaveOccurred())
		Expect(raw).To(MatchJSON(`{"cniVersion":"0.4.0","interfaces":[{"name":"eth0"}],"dns":{}}`))
		Expect(result.CNIVersion).To(Equal("1.0.0"))
	})

	It("names the versions that cannot be reached", func() {
		_, err := enrich.Encode(&types100.Result{}, "9.9.9")
		Expect(err).To(MatchError(ContainSubstring("9.9.9")))
	})

	It("writes every field that the library's Result has, as the library does, and no other", func() {
		index := 0
		whole := types100.Result{
			CNIVersion: "1.1.0",
			Interfaces: []*types100.Interface{{Name: "eth0", Mac: podMAC, Mtu: podMTU, Sandbox: "<" + netns + ">", SocketPath: "/s", PciID: "0000:00:00.0"}},
			IPs:        []*types100.IPConfig{{Interface: &index, Address: net.IPNet{IP: net.IPv4(192, 0, 2, 10), Mask: net.CIDRMask(32, 32)}, Gateway: net.IPv4(192, 0, 2, 1)}},
			Routes:     []*types.Route{{Dst: net.IPNet{IP: net.IPv4zero, Mask: net.CIDRMask(0, 32)}, GW: net.IPv4(192, 0, 2, 1), MTU: 1400}},
			DNS:        types.DNS{Nameservers: []string{"192.0.2.53"}},
		}
		fields := reflect.TypeFor[types100.Result]()
		for i := range fields.NumField() {
			Expect(reflect.ValueOf(whole).Field(i).IsZero()).To(BeFalse(), "%s is new: encodeNewest must know it", fields.Field(i).Name)

			// All of it without this field, and nothing but this field.
			without, alone := whole, types100.Result{CNIVersion: "1.1.0"}
			if fields.Field(i).Name != "CNIVersion" {
				reflect.ValueOf(&without).Elem().Field(i).SetZero()
				reflect.ValueOf(&alone).Elem().Field(i).Set(reflect.ValueOf(whole).Field(i))
			}
			for _, result := range []types100.Result{without, alone} {
				want, err := json.Marshal(&result)
				Expect(err).NotTo(HaveOccurred())
				Expect(enrich.Encode(&result, "1.1.0")).To(MatchJSON(want))
			}
		}
	})
})

var _ = Describe("A repair", func() {
	It("is encoded as its tags say", func() {
		type tagged enrich.Repair // without MarshalJSON
		for _, r := range []enrich.Repair{
			{Rule: "R7", Path: "ips[0].interface", New: 1, Reason: "because"},
			{Rule: "R6", Path: "interfaces[1]", New: &types100.Interface{Name: "eth0", Sandbox: `a"b`}, Reason: "\x01 < \u2028"},
			{Rule: "R1", Path: "ips[2]", Old: []string{"x"}},
		} {
			want, err := json.Marshal(tagged(r))
			Expect(err).NotTo(HaveOccurred())
			Expect(json.Marshal(r)).To(Equal(want), "to the byte")
		}
	})

	It("that cannot be encoded is an error", func() {
		_, err := json.Marshal(enrich.Repair{New: make(chan int)})
		Expect(err).To(MatchError(ContainSubstring("encode new")))
	})
})
