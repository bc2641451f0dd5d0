// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"

	"github.com/result-enricher/result-enricher/enrich"
)

// fakeConn answers in the place of the kernel. Every call takes the next fault
// of its queue; the last one stays.
type fakeConn struct {
	links      map[string]linkState
	linkFaults []error
	addrs      []netip.Addr
	addrFaults []error
	routes     []enrich.DefaultRoute
	routeFault error
	asked      []string
	// whileListing happens during the dump of the addresses.
	whileListing func()
}

func (f *fakeConn) Link(name string) (linkState, error) {
	f.asked = append(f.asked, "link "+name)
	if err := next(&f.linkFaults); err != nil {
		return linkState{}, err
	}
	state, ok := f.links[name]
	if !ok {
		return linkState{}, unix.ENODEV
	}
	return state, nil
}

func (f *fakeConn) Addresses(index int) ([]netip.Addr, error) {
	f.asked = append(f.asked, fmt.Sprintf("addresses of %d", index))
	if f.whileListing != nil {
		f.whileListing()
	}
	return f.addrs, next(&f.addrFaults)
}

func (f *fakeConn) DefaultRoutes(index int) ([]enrich.DefaultRoute, error) {
	f.asked = append(f.asked, fmt.Sprintf("routes of %d", index))
	return f.routes, f.routeFault
}

func (f *fakeConn) SetTimeout(time.Duration) error { return nil }

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

func eth0() linkState {
	return linkState{index: 7, name: "eth0", mtu: 1450, mac: net.HardwareAddr{0, 0, 0x5e, 0, 0x53, 1}}
}

var addr = netip.MustParseAddr

func podOnly() *fakeConn {
	return &fakeConn{links: map[string]linkState{"eth0": eth0()}}
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
		conn.addrs = []netip.Addr{addr("192.0.2.10"), addr("2001:db8::10")}
		obs, err := within(conn, time.Hour).observe(Request{IfName: "eth0"})
		Expect(err).NotTo(HaveOccurred())
		Expect(conn.asked).To(Equal([]string{"link eth0", "addresses of 7"}))
		Expect(obs.Link.MAC).To(Equal("00:00:5e:00:53:01"))
		Expect(obs.Link.MTU).To(Equal(1450))
		Expect(obs.Link.ParentDevice).To(BeFalse())
		Expect(obs.Link.AddressesComplete).To(BeTrue())
		Expect(obs.Link.Addresses).To(Equal([]netip.Addr{addr("192.0.2.10"), addr("2001:db8::10")}))
	})

	It("repeats an interrupted dump until it is whole", func() {
		conn := podOnly()
		conn.addrs = []netip.Addr{addr("192.0.2.10")}
		conn.addrFaults = []error{errDumpInterrupted, errDumpInterrupted, nil}
		obs, err := within(conn, time.Hour).observe(Request{IfName: "eth0"})
		Expect(err).NotTo(HaveOccurred())
		Expect(obs.Link.AddressesComplete).To(BeTrue())
		Expect(conn.asked).To(HaveLen(4))
	})

	It("calls what is interrupted to the deadline a part", func() {
		conn := podOnly()
		conn.addrs = []netip.Addr{addr("192.0.2.10")}
		conn.addrFaults = []error{errDumpInterrupted}
		obs, err := within(conn, 20*time.Millisecond).observe(Request{IfName: "eth0"})
		Expect(err).NotTo(HaveOccurred())
		Expect(obs.Link.AddressesComplete).To(BeFalse())
		Expect(obs.Link.Addresses).To(ConsistOf(addr("192.0.2.10")))
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

	It("nor for the kernel's word that it is gone", func() {
		conn := podOnly()
		conn.addrFaults = []error{unix.ENODEV}
		_, err := within(conn, time.Hour).observe(Request{IfName: "eth0"})
		Expect(err).To(MatchError(ErrInterrupted))
	})

	It("nor about one that was replaced", func() {
		conn := podOnly()
		conn.whileListing = func() { conn.links["eth0"] = linkState{index: 8, name: "eth0"} }
		_, err := within(conn, time.Hour).observe(Request{IfName: "eth0"})
		Expect(err).To(MatchError(ErrInterrupted))
	})

	It("does not take an alternative name for the name", func() {
		conn := podOnly()
		conn.links["eth0"] = linkState{index: 7, name: "enp1s0"}
		obs, err := within(conn, time.Hour).observe(Request{IfName: "eth0"})
		Expect(err).NotTo(HaveOccurred())
		Expect(obs.Link).To(BeNil())
	})

	DescribeTable("asks nobody for what is no name of a link", func(name string) {
		conn := podOnly()
		conn.links["eth0"] = eth0()
		conn.addrs = []netip.Addr{addr("192.0.2.10")}
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
		conn.addrs = []netip.Addr{addr("192.0.2.10")}
		conn.links["net1"] = linkState{index: 8, name: "net1", mac: net.HardwareAddr{2, 0, 0, 0, 0, 1}}
		conn.links["tunl0"] = linkState{index: 9, name: "tunl0", mac: net.HardwareAddr{192, 0, 2, 1}}
		obs, err := within(conn, time.Hour).observe(Request{IfName: "eth0", Links: []string{"net1", "gone", "tunl0"}})
		Expect(err).NotTo(HaveOccurred())
		Expect(obs.MACs).To(Equal(map[string]string{"net1": "02:00:00:00:00:01"}))
		Expect(conn.asked[2:]).To(Equal([]string{"link net1", "link gone", "link tunl0"}))
	})

	It("has no mac for a pod link whose address is not 6 bytes long", func() {
		conn := podOnly()
		infiniband := eth0()
		infiniband.mac = make(net.HardwareAddr, 20)
		infiniband.parentDevice = true
		conn.links["eth0"] = infiniband
		conn.addrs = []netip.Addr{addr("192.0.2.10")}
		obs, err := within(conn, time.Hour).observe(Request{IfName: "eth0"})
		Expect(err).NotTo(HaveOccurred())
		Expect(obs.Link.MAC).To(BeEmpty())
		Expect(obs.Link.ParentDevice).To(BeTrue())
	})

	It("asks for routes only when they are wanted", func() {
		conn := podOnly()
		conn.addrs = []netip.Addr{addr("192.0.2.10")}
		conn.routes = []enrich.DefaultRoute{{NextHop: addr("169.254.1.1")}}
		obs, err := within(conn, time.Hour).observe(Request{IfName: "eth0", DefaultRoutes: true})
		Expect(err).NotTo(HaveOccurred())
		Expect(conn.asked).To(Equal([]string{"link eth0", "addresses of 7", "routes of 7"}))
		Expect(obs.Link.DefaultRoutes).To(Equal(conn.routes))
	})

	DescribeTable("tells causes apart", func(fault, want error) {
		conn := podOnly()
		conn.linkFaults = []error{fault}
		_, err := within(conn, time.Hour).observe(Request{IfName: "eth0"})
		Expect(err).To(MatchError(want))
		Expect(err).To(MatchError(fault), "the cause stays in the chain")
	},
		Entry("interrupted", errDumpInterrupted, ErrInterrupted),
		Entry("a socket's timeout", unix.EAGAIN, ErrInterrupted),
		Entry("not permitted", unix.EPERM, ErrNotPermitted),
		Entry("denied", fs.ErrPermission, ErrNotPermitted),
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
