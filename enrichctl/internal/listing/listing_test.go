// SPDX-License-Identifier: Apache-2.0

package listing_test

import (
	"bytes"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/containernetworking/cni/pkg/types"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/enrich/attachment"
	"github.com/result-enricher/result-enricher/enrichctl/internal/listing"
	"github.com/result-enricher/result-enricher/enrichctl/internal/screen"
)

func TestListing(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "listing")
}

var whole = attachment.Attachment{
	ContainerID: "f0b4ab5c-2f1c-4f1a-8c0e-4a4a6d0c3b1d", Network: "pods", Interface: "eth0", Kind: "veth", CNIVersion: "0.3.1",
	Netns: "/run/netns/x", MAC: "3a:dd:bc:ad:13:95", MTU: 1450, HostDevice: "cali1",
	Addresses: []attachment.Address{
		{Prefix: netip.MustParsePrefix("10.1.1.5/32"), Gateway: netip.MustParseAddr("169.254.1.1")},
		{Prefix: netip.MustParsePrefix("fd00::5/128")},
	},
	Routes: []attachment.Route{{Destination: netip.MustParsePrefix("0.0.0.0/0"), Gateway: netip.MustParseAddr("169.254.1.1")}},
	DNS:    types.DNS{Nameservers: []string{"10.96.0.10"}, Domain: "d", Search: []string{"a", "b"}, Options: []string{"o"}},
	Tap:    &attachment.Tap{Name: "tap0", MTU: 1400, GuestMAC: "02:00:00:00:00:01"},
}

var bare = attachment.Attachment{
	ContainerID: "c-1", Network: "a\x1b[2Jb", Interface: "eth0", Incomplete: errors.New("sandbox cannot be inspected: gone"),
}

func written(write func(*screen.Screen)) string {
	var out bytes.Buffer
	write(screen.New(&out, func(string) string { return "" }))
	return strings.TrimSuffix(out.String(), "\n")
}

var _ = It("writes a table", func() {
	Expect(written(func(s *screen.Screen) { listing.Table(s, []attachment.Attachment{bare, whole}) })).To(Equal(strings.Join([]string{
		`CONTAINER      NETWORK      IF    MAC                MTU   HOST DEVICE  ADDRESSES`,
		`c-1            a\u001b[2Jb  eth0  -                  -     ?            -`,
		`f0b4ab5c-2f1c  pods         eth0  3a:dd:bc:ad:13:95  1450  cali1        10.1.1.5/32 fd00::5/128`,
		`? the namespace cannot be inspected; enrichctl show CONTAINER says why`,
	}, "\n")))
})

var _ = It("writes one in full", func() {
	Expect(written(func(s *screen.Screen) { listing.Full(s, []attachment.Attachment{whole}) })).To(Equal(strings.Join([]string{
		`container    f0b4ab5c-2f1c-4f1a-8c0e-4a4a6d0c3b1d`,
		`network      pods, CNI 0.3.1`,
		`interface    eth0 veth`,
		`namespace    /run/netns/x`,
		`mac          3a:dd:bc:ad:13:95`,
		`mtu          1450`,
		`addresses    10.1.1.5/32 via 169.254.1.1`,
		`             fd00::5/128`,
		`routes       0.0.0.0/0 via 169.254.1.1`,
		`dns          10.96.0.10`,
		`             domain d`,
		`             search a b`,
		`             options o`,
		`host device  cali1`,
		`tap          tap0, guest 02:00:00:00:00:01, mtu 1400`,
	}, "\n")))
})

var _ = It("writes what is not known as a dash, and why", func() {
	Expect(written(func(s *screen.Screen) { listing.Full(s, []attachment.Attachment{bare}) })).To(Equal(strings.Join([]string{
		`container    c-1`,
		`network      a\u001b[2Jb, CNI`,
		`interface    eth0`,
		`namespace    -`,
		`mac          -`,
		`mtu          -`,
		`addresses    -`,
		`routes       -`,
		`dns          -`,
		`host device  -`,
		`incomplete   sandbox cannot be inspected: gone`,
	}, "\n")))
})
