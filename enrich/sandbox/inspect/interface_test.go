// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"net"
	"net/netip"
	"os"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/result-enricher/result-enricher/enrich/sandbox"
	"github.com/result-enricher/result-enricher/internal/podns"
)

// fakeKernel answers in the place of the kernel: some kinds of links, as netkit,
// are not to be had everywhere.
type fakeKernel struct {
	links     map[string]netlink.LinkAttrs
	kind      string
	addrs     []netlink.Addr
	addrFault error
	byIndex   map[int]string
	nsid      int
}

func (f *fakeKernel) LinkByName(name string) (netlink.Link, error) {
	attrs, ok := f.links[name]
	if !ok {
		return nil, netlink.LinkNotFoundError{}
	}
	return &netlink.GenericLink{LinkAttrs: attrs, LinkType: f.kind}, nil
}

func (f *fakeKernel) LinkByIndex(index int) (netlink.Link, error) {
	name, ok := f.byIndex[index]
	if !ok {
		return nil, netlink.LinkNotFoundError{}
	}
	return &netlink.Device{LinkAttrs: netlink.LinkAttrs{Name: name, Index: index}}, nil
}

func (f *fakeKernel) AddrList(netlink.Link, int) ([]netlink.Addr, error) { return f.addrs, f.addrFault }

func (f *fakeKernel) RouteListFiltered(int, *netlink.Route, uint64) ([]netlink.Route, error) {
	return nil, nil
}
func (f *fakeKernel) LinkList() ([]netlink.Link, error)    { return nil, nil }
func (f *fakeKernel) GetNetNsIdByFd(int) (int, error)      { return f.nsid, nil }
func (f *fakeKernel) SetSocketTimeout(time.Duration) error { return nil }

func (f *fakeKernel) inspecting(ctx context.Context, host kernel) *Inspector {
	return &Inspector{pod: side{ctx, f}, host: side{ctx, host}, callerNS: -1}
}

// inPair is a pod link whose other end has index 42 in the namespace that the
// sandbox calls 3.
func inPair() *fakeKernel {
	attrs := netlink.LinkAttrs{Index: 7, Name: "eth0", MTU: 1450, ParentIndex: 42, NetNsID: 3}
	return &fakeKernel{links: map[string]netlink.LinkAttrs{"eth0": attrs}, kind: "netkit", nsid: 3}
}

var _ = Describe("the device on the host", func() {
	host := &fakeKernel{byIndex: map[int]string{42: "lxc1234"}}

	It("is the other end of a pair of any kind", func() {
		found, err := inPair().inspecting(context.Background(), host).describe("eth0")
		Expect(err).NotTo(HaveOccurred())
		Expect(found.Kind).To(Equal("netkit"))
		Expect(found.HostDevice).To(Equal("lxc1234"))
	})

	DescribeTable("is nothing when it is not in the caller's namespace", func(change func(*netlink.LinkAttrs), nsid int) {
		pod := inPair()
		attrs := pod.links["eth0"]
		change(&attrs)
		pod.links["eth0"], pod.nsid = attrs, nsid
		found, err := pod.inspecting(context.Background(), host).describe("eth0")
		Expect(err).NotTo(HaveOccurred())
		Expect(found.HostDevice).To(BeEmpty())
	},
		Entry("but in a third one", func(*netlink.LinkAttrs) {}, 4),
		Entry("and the caller's has no number there", func(*netlink.LinkAttrs) {}, -1),
		Entry("but in the sandbox, though the index exists on the host", func(a *netlink.LinkAttrs) { a.NetNsID = -1 }, -1),
		Entry("because there is none", func(a *netlink.LinkAttrs) { a.ParentIndex = 0 }, 3),
		Entry("because it went", func(a *netlink.LinkAttrs) { a.ParentIndex = 43 }, 3),
	)

	It("says that there is no such link", func() {
		_, err := inPair().inspecting(context.Background(), host).describe("net1")
		Expect(err).To(MatchError(sandbox.ErrNoLink))
	})

	It("takes no part of the addresses for all", func() {
		pod := inPair()
		pod.addrFault = netlink.ErrDumpInterrupted
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		defer cancel()
		_, err := pod.inspecting(ctx, host).describe("eth0")
		Expect(err).To(MatchError(sandbox.ErrInterrupted))
	})
})

var _ = Describe("a real link", func() {
	It("shows kind, addresses with their lengths, and the routes that somebody added", func() {
		ns := newPod("192.0.2.10/24", "2001:db8::10/64")
		link, err := ns.Netlink.LinkByName("eth0")
		Expect(err).NotTo(HaveOccurred())
		for _, r := range []struct{ dst, gw string }{{"0.0.0.0/0", "192.0.2.1"}, {"198.51.100.0/24", "192.0.2.2"}} {
			dst, err := netlink.ParseIPNet(r.dst)
			Expect(err).NotTo(HaveOccurred())
			Expect(ns.Netlink.RouteAdd(&netlink.Route{
				LinkIndex: link.Attrs().Index, Dst: dst, Gw: net.ParseIP(r.gw), Priority: 7,
			})).To(Succeed())
		}
		found, err := openPod(ns.Path).Interface("eth0")
		Expect(err).NotTo(HaveOccurred())
		Expect(found).To(Equal(Interface{
			Kind: "veth", MAC: link.Attrs().HardwareAddr.String(), MTU: 1450,
			Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.10/24"), netip.MustParsePrefix("2001:db8::10/64")},
			Routes: []Route{
				{Destination: netip.MustParsePrefix("0.0.0.0/0"), Gateway: netip.MustParseAddr("192.0.2.1"), Metric: 7},
				{Destination: netip.MustParsePrefix("198.51.100.0/24"), Gateway: netip.MustParseAddr("192.0.2.2"), Metric: 7},
			},
		}), "the other end is in the sandbox too, so there is no device on the host")
	})

	It("leads to its other end on the host, and to none in a third namespace", func() {
		ns := newPod()
		third, err := podns.New("/run/netns/third")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(third.Close)
		pair := func(name, peer string, where *podns.NS) {
			GinkgoHelper()
			veth := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: peer}, PeerName: name, PeerNamespace: netlink.NsFd(nsFile(ns.Path))}
			if where == nil {
				Expect(netlink.LinkAdd(veth)).To(Succeed())
				DeferCleanup(func() { Expect(netlink.LinkDel(veth)).To(Succeed()) })
			} else {
				Expect(where.Netlink.LinkAdd(veth)).To(Succeed())
			}
		}
		pair("net1", "host1", nil)
		pair("net2", "third2", third)
		s := openPod(ns.Path)
		Expect(s.Interface("net1")).To(HaveField("HostDevice", "host1"))
		Expect(s.Interface("net2")).To(And(HaveField("Kind", "veth"), HaveField("HostDevice", "")))
	})

	It("is found among others when it is a tap", func() {
		if os.Getenv("CI") == "" && unix.Access("/dev/net/tun", unix.W_OK) != nil {
			Skip("the machine keeps /dev/net/tun for root, so this user cannot make a tap")
		}
		ns := newPod()
		for _, name := range []string{"tap1", "tap0"} {
			// The library makes a tap where the thread is.
			tap := &netlink.Tuntap{LinkAttrs: netlink.LinkAttrs{Name: name}, Mode: netlink.TUNTAP_MODE_TAP}
			Expect(netlink.LinkAdd(tap)).To(Succeed())
			Expect(netlink.LinkSetNsFd(tap, nsFile(ns.Path))).To(Succeed())
		}
		Expect(openPod(ns.Path).Taps()).To(Equal([]string{"tap0", "tap1"}))
	})
})

// nsFile opens a namespace for as long as the spec.
func nsFile(path string) int {
	GinkgoHelper()
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(unix.Close, fd)
	return fd
}
