// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// fakeConn answers in the place of the kernel. Every list call takes the next
// fault of its queue; the last one stays.
type fakeConn struct {
	links      map[string]netlink.LinkAttrs
	linkFaults []error
	addrs      []netlink.Addr
	addrFaults []error
	routes     []netlink.Route
	routeFault error
	asked      []string
	// whileListing happens during the dump of the addresses.
	whileListing func()
}

func (f *fakeConn) LinkByName(name string) (netlink.Link, error) {
	f.asked = append(f.asked, "link "+name)
	if err := next(&f.linkFaults); err != nil {
		return nil, err
	}
	attrs, ok := f.links[name]
	if !ok {
		return nil, netlink.LinkNotFoundError{}
	}
	return &netlink.Device{LinkAttrs: attrs}, nil
}

func (f *fakeConn) AddrList(link netlink.Link, family int) ([]netlink.Addr, error) {
	f.asked = append(f.asked, fmt.Sprintf("addresses of %d, family %d", link.Attrs().Index, family))
	if f.whileListing != nil {
		f.whileListing()
	}
	return f.addrs, next(&f.addrFaults)
}

func (f *fakeConn) RouteListFiltered(int, *netlink.Route, uint64) ([]netlink.Route, error) {
	f.asked = append(f.asked, "routes")
	return f.routes, f.routeFault
}

func (f *fakeConn) SetSocketTimeout(time.Duration) error { return nil }

func next(faults *[]error) error {
	if len(*faults) == 0 {
		return nil
	}
	fault := (*faults)[0]
	if len(*faults) > 1 {
		*faults = (*faults)[1:]
	}
	return fault
}

func eth0() netlink.LinkAttrs {
	return netlink.LinkAttrs{Index: 7, Name: "eth0", MTU: 1450, HardwareAddr: net.HardwareAddr{0, 0, 0x5e, 0, 0x53, 1}}
}

func addr(cidr string) netlink.Addr {
	ip, network, err := net.ParseCIDR(cidr)
	Expect(err).NotTo(HaveOccurred())
	network.IP = ip
	return netlink.Addr{IPNet: network}
}

func podOnly() *fakeConn {
	return &fakeConn{links: map[string]netlink.LinkAttrs{"eth0": eth0()}}
}

// within gives a reader with a deadline that a spec does not reach, and one
// that has passed when it says so.
func within(conn *fakeConn, left time.Duration) *reader {
	ctx, cancel := context.WithTimeout(context.Background(), left)
	DeferCleanup(cancel)
	return &reader{ctx: ctx, conn: conn}
}

var _ = Describe("reading", func() {
	It("asks for the pod link and its addresses, and nothing else", func() {
		conn := podOnly()
		conn.addrs = []netlink.Addr{addr("192.0.2.10/32"), addr("2001:db8::10/64")}
		obs, err := within(conn, time.Hour).observe(Request{IfName: "eth0"})
		Expect(err).NotTo(HaveOccurred())
		Expect(conn.asked).To(Equal([]string{"link eth0", "addresses of 7, family 0"}))
		Expect(obs.Link.MAC).To(Equal("00:00:5e:00:53:01"))
		Expect(obs.Link.MTU).To(Equal(1450))
		Expect(obs.Link.ParentDevice).To(BeFalse())
		Expect(obs.Link.AddressesComplete).To(BeTrue())
		Expect(obs.Link.Addresses).To(Equal([]netip.Addr{netip.MustParseAddr("192.0.2.10"), netip.MustParseAddr("2001:db8::10")}))
	})

	It("repeats an interrupted dump until it is whole", func() {
		conn := podOnly()
		conn.addrs = []netlink.Addr{addr("192.0.2.10/32")}
		conn.addrFaults = []error{netlink.ErrDumpInterrupted, netlink.ErrDumpInterrupted, nil}
		obs, err := within(conn, time.Hour).observe(Request{IfName: "eth0"})
		Expect(err).NotTo(HaveOccurred())
		Expect(obs.Link.AddressesComplete).To(BeTrue())
		Expect(conn.asked).To(HaveLen(4))
	})

	It("calls what is interrupted to the deadline a part", func() {
		conn := podOnly()
		conn.addrs = []netlink.Addr{addr("192.0.2.10/32")}
		conn.addrFaults = []error{netlink.ErrDumpInterrupted}
		obs, err := within(conn, 20*time.Millisecond).observe(Request{IfName: "eth0"})
		Expect(err).NotTo(HaveOccurred())
		Expect(obs.Link.AddressesComplete).To(BeFalse())
		Expect(obs.Link.Addresses).To(ConsistOf(netip.MustParseAddr("192.0.2.10")))
	})

	It("says that it was interrupted when the time is over before it began", func() {
		conn := podOnly()
		_, err := within(conn, 0).observe(Request{IfName: "eth0"})
		Expect(err).To(MatchError(ErrInterrupted))
		Expect(conn.asked).To(BeEmpty())
	})

	It("takes no empty list for an answer about a link that went meanwhile", func() {
		conn := podOnly()
		conn.whileListing = func() { delete(conn.links, "eth0") }
		_, err := within(conn, time.Hour).observe(Request{IfName: "eth0"})
		Expect(err).To(MatchError(ErrInterrupted))
	})

	It("nor about one that was replaced", func() {
		conn := podOnly()
		conn.whileListing = func() { conn.links["eth0"] = netlink.LinkAttrs{Index: 8, Name: "eth0"} }
		_, err := within(conn, time.Hour).observe(Request{IfName: "eth0"})
		Expect(err).To(MatchError(ErrInterrupted))
	})

	It("does not take an alternative name for the name", func() {
		conn := podOnly()
		conn.links["eth0"] = netlink.LinkAttrs{Index: 7, Name: "enp1s0"}
		obs, err := within(conn, time.Hour).observe(Request{IfName: "eth0"})
		Expect(err).NotTo(HaveOccurred())
		Expect(obs.Link).To(BeNil())
	})

	DescribeTable("asks nobody for what is no name of a link", func(name string) {
		conn := podOnly()
		conn.links["eth0"] = eth0()
		conn.addrs = []netlink.Addr{addr("192.0.2.10/32")}
		obs, err := within(conn, time.Hour).observe(Request{IfName: "eth0", Links: []string{name}})
		Expect(err).NotTo(HaveOccurred())
		Expect(obs.MACs).To(BeEmpty())
		Expect(conn.asked).To(HaveLen(2))
	},
		Entry("empty", ""), Entry("too long", "abcdefghijklmnop"), Entry("a slash", "a/b"),
		Entry("a space", "a b"), Entry("a null byte", "a\x00b"), Entry("dots", ".."),
	)

	It("reads further links one by one, and leaves out those that are none or have no mac", func() {
		conn := podOnly()
		conn.addrs = []netlink.Addr{addr("192.0.2.10/32")}
		conn.links["net1"] = netlink.LinkAttrs{Index: 8, Name: "net1", HardwareAddr: net.HardwareAddr{2, 0, 0, 0, 0, 1}}
		conn.links["tunl0"] = netlink.LinkAttrs{Index: 9, Name: "tunl0", HardwareAddr: net.HardwareAddr{192, 0, 2, 1}}
		obs, err := within(conn, time.Hour).observe(Request{IfName: "eth0", Links: []string{"net1", "gone", "tunl0"}})
		Expect(err).NotTo(HaveOccurred())
		Expect(obs.MACs).To(Equal(map[string]string{"net1": "02:00:00:00:00:01"}))
		Expect(conn.asked[2:]).To(Equal([]string{"link net1", "link gone", "link tunl0"}))
	})

	It("has no mac for a pod link whose address is not 6 bytes long", func() {
		conn := podOnly()
		infiniband := eth0()
		infiniband.HardwareAddr = make(net.HardwareAddr, 20)
		infiniband.ParentDev = "0000:08:06.3"
		conn.links["eth0"] = infiniband
		conn.addrs = []netlink.Addr{addr("192.0.2.10/32")}
		obs, err := within(conn, time.Hour).observe(Request{IfName: "eth0"})
		Expect(err).NotTo(HaveOccurred())
		Expect(obs.Link.MAC).To(BeEmpty())
		Expect(obs.Link.ParentDevice).To(BeTrue())
	})

	It("keeps only unicast default routes of any metric through the pod link", func() {
		conn := podOnly()
		conn.addrs = []netlink.Addr{addr("192.0.2.10/32")}
		gw := net.IPv4(169, 254, 1, 1)
		zero := addr("0.0.0.0/0").IPNet
		conn.routes = []netlink.Route{
			{LinkIndex: 7, Type: unix.RTN_UNICAST, Family: netlink.FAMILY_V4, Gw: gw, Priority: 3},
			{LinkIndex: 7, Type: unix.RTN_UNICAST, Family: netlink.FAMILY_V4, Dst: zero, Priority: 4},
			{LinkIndex: 7, Type: unix.RTN_UNICAST, Family: netlink.FAMILY_V4, Dst: addr("0.0.0.0/1").IPNet, Gw: gw},
			{LinkIndex: 8, Type: unix.RTN_UNICAST, Family: netlink.FAMILY_V4, Gw: gw},
			{LinkIndex: 7, Type: unix.RTN_BLACKHOLE, Family: netlink.FAMILY_V4, Gw: gw},
			{Type: unix.RTN_UNICAST, Family: netlink.FAMILY_V6, Priority: 1024, MultiPath: []*netlink.NexthopInfo{
				{LinkIndex: 8, Gw: net.ParseIP("fe80::8")}, {LinkIndex: 7, Gw: net.ParseIP("fe80::7")},
			}},
		}
		obs, err := within(conn, time.Hour).observe(Request{IfName: "eth0", DefaultRoutes: true})
		Expect(err).NotTo(HaveOccurred())
		var routes []string
		for _, r := range obs.Link.DefaultRoutes {
			routes = append(routes, fmt.Sprint(r.NextHop, " ", r.Metric, " ", r.IPv6))
		}
		Expect(routes).To(Equal([]string{"169.254.1.1 3 false", "invalid IP 4 false", "fe80::7 1024 true"}))
	})

	DescribeTable("tells causes apart", func(fault, want error) {
		conn := podOnly()
		conn.linkFaults = []error{fault}
		_, err := within(conn, time.Hour).observe(Request{IfName: "eth0"})
		Expect(err).To(MatchError(want))
		Expect(err).To(MatchError(fault), "the cause stays in the chain")
	},
		Entry("interrupted", netlink.ErrDumpInterrupted, ErrInterrupted),
		Entry("a socket's timeout", unix.EAGAIN, ErrInterrupted),
		Entry("not permitted", unix.EPERM, ErrNotPermitted),
		Entry("denied", fs.ErrPermission, ErrNotPermitted),
		Entry("setns, whose error the library flattens", errors.New("failed to set into network namespace 3: operation not permitted"), ErrNotPermitted),
	)

	It("hands on what it cannot tell", func() {
		conn := podOnly()
		conn.linkFaults = []error{unix.ENOBUFS}
		_, err := within(conn, time.Hour).observe(Request{IfName: "eth0"})
		Expect(err).To(MatchError(unix.ENOBUFS))
	})

	DescribeTable("gives up on a list that fails", func(sabotage func(*fakeConn)) {
		conn := podOnly()
		sabotage(conn)
		_, err := within(conn, time.Hour).observe(Request{IfName: "eth0", DefaultRoutes: true})
		Expect(err).To(MatchError(unix.ENOBUFS))
	},
		Entry("addresses", func(f *fakeConn) { f.addrFaults = []error{unix.ENOBUFS} }),
		Entry("routes", func(f *fakeConn) { f.routeFault = unix.ENOBUFS }),
	)
})
