// SPDX-License-Identifier: Apache-2.0

package explanation

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/result-enricher/result-enricher/enrichctl/internal/screen"
	"github.com/result-enricher/result-enricher/internal/fieldcase"
	"github.com/result-enricher/result-enricher/internal/host"
	"github.com/result-enricher/result-enricher/internal/isolate"
	"github.com/result-enricher/result-enricher/internal/podns"
)

func TestMain(m *testing.M) {
	os.Exit(isolate.TestMain(func(string) error { return nil }, func(string) int { return m.Run() }))
}

func TestExplanation(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "explanation")
}

var _ = host.Watch()

// newPod makes a namespace with links, whose other ends are in it too: all are
// veths, for only name, MAC, MTU and addresses count.
func newPod(links []fieldcase.Link) *podns.NS {
	GinkgoHelper()
	ns, err := podns.New("/run/netns/pod")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(ns.Close)
	for i, l := range links {
		mac, err := net.ParseMAC(l.MAC)
		Expect(err).NotTo(HaveOccurred())
		veth := &netlink.Veth{
			LinkAttrs: netlink.LinkAttrs{Name: l.Name, MTU: l.MTU, HardwareAddr: mac}, PeerName: fmt.Sprintf("peer%d", i),
		}
		Expect(ns.Netlink.LinkAdd(veth)).To(Succeed())
		Expect(ns.Netlink.LinkSetUp(veth)).To(Succeed())
		for _, prefix := range l.Addresses {
			addr, err := netlink.ParseAddr(prefix.String())
			Expect(err).NotTo(HaveOccurred())
			Expect(ns.Netlink.AddrAdd(veth, addr)).To(Succeed())
		}
	}
	return ns
}

// pairWithHost gives the pod a link whose other end is on the host, and a default
// route through it.
func pairWithHost(ns *podns.NS, hostEnd, gateway string, addresses ...string) {
	GinkgoHelper()
	fd, err := unix.Open(ns.Path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	Expect(err).NotTo(HaveOccurred())
	defer unix.Close(fd)
	mac := net.HardwareAddr{0x3a, 0xdd, 0xbc, 0xad, 0x13, 0x95}
	veth := &netlink.Veth{
		LinkAttrs: netlink.LinkAttrs{Name: hostEnd, MTU: 1450}, PeerName: "eth0", PeerMTU: 1450, PeerHardwareAddr: mac,
		PeerNamespace: netlink.NsFd(fd),
	}
	Expect(netlink.LinkAdd(veth)).To(Succeed())
	DeferCleanup(func() { Expect(netlink.LinkDel(veth)).To(Succeed()) })
	link, err := ns.Netlink.LinkByName("eth0")
	Expect(err).NotTo(HaveOccurred())
	Expect(ns.Netlink.LinkSetUp(link)).To(Succeed())
	for _, a := range addresses {
		addr, err := netlink.ParseAddr(a)
		Expect(err).NotTo(HaveOccurred())
		Expect(ns.Netlink.AddrAdd(link, addr)).To(Succeed())
	}
	to := &net.IPNet{IP: net.ParseIP(gateway), Mask: net.CIDRMask(32, 32)}
	index := link.Attrs().Index
	Expect(ns.Netlink.RouteAdd(&netlink.Route{LinkIndex: index, Dst: to, Scope: netlink.SCOPE_LINK})).To(Succeed())
	Expect(ns.Netlink.RouteAdd(&netlink.Route{
		LinkIndex: index, Dst: &net.IPNet{IP: net.IPv4zero, Mask: net.CIDRMask(0, 32)}, Gw: to.IP,
	})).To(Succeed())
}

// rendered is what a person sees.
func rendered(e *Explanation) string {
	var out bytes.Buffer
	e.Render(screen.New(&out, func(string) string { return "" }))
	return strings.TrimSuffix(out.String(), "\n")
}
