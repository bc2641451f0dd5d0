// SPDX-License-Identifier: Apache-2.0

package stress

import (
	"fmt"
	"net"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vishvananda/netlink"

	"github.com/result-enricher/result-enricher/internal/podns"
)

// generations number the states of a link. One is begun before the change that makes it and over with the begin of the
// next.
type generations struct{ begun, made atomic.Int64 }

// next runs the change to a new generation.
func (g *generations) next(change func(generation int)) {
	generation := g.begun.Add(1)
	change(int(generation))
	g.made.Store(generation)
}

// since is the range of generations that can have been seen since made had the given value.
func (g *generations) since(made int64) (from, to int) { return int(made), int(g.begun.Load()) }

// macOf and mtuOf say the generation; mtus repeat after 300, and IPv6 needs 1280.
func macOf(generation int) string {
	return fmt.Sprintf("02:00:%02x:%02x:%02x:%02x", byte(generation>>24), byte(generation>>16), byte(generation>>8), byte(generation))
}

func mtuOf(generation int) int { return 1300 + generation%300 }

// generationOf reads a mac of macOf.
func generationOf(mac string) int {
	GinkgoHelper()
	b, err := net.ParseMAC(mac)
	Expect(err).NotTo(HaveOccurred())
	Expect(b[:2]).To(Equal(net.HardwareAddr{2, 0}), mac)
	return int(b[2])<<24 | int(b[3])<<16 | int(b[4])<<8 | int(b[5])
}

// newVeth makes a link with everything at once. The other end stays in the namespace too.
func newVeth(ns *podns.NS, name, mac string, mtu int) netlink.Link {
	GinkgoHelper()
	address, err := net.ParseMAC(mac)
	Expect(err).NotTo(HaveOccurred())
	veth := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name, HardwareAddr: address, MTU: mtu}, PeerName: "p-" + name}
	Expect(ns.Netlink.LinkAdd(veth)).To(Succeed())
	link, err := ns.Netlink.LinkByName(name)
	Expect(err).NotTo(HaveOccurred())
	return link
}

func address(s string) *netlink.Addr {
	GinkgoHelper()
	addr, err := netlink.ParseAddr(s)
	Expect(err).NotTo(HaveOccurred())
	return addr
}

func newPod() *podns.NS {
	GinkgoHelper()
	ns, err := podns.New("/run/netns/cni-stress")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(ns.Close)
	return ns
}

// rest lets a state last for a while that differs from generation to generation, so that a change meets ADDs at every
// point.
func rest(ns *podns.NS, generation int) {
	GinkgoHelper()
	for range generation * 37 % 1000 {
		_, err := ns.Netlink.LinkByName("lo")
		Expect(err).NotTo(HaveOccurred())
	}
}

// at wraps an index for comparison.
func at(i int) *int { return &i }
