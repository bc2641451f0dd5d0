// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/result-enricher/result-enricher/internal/podns"
)

// message is a header of zeros with a few bytes set, and attributes.
func message(header int, set map[int]byte, attrs ...*nl.RtAttr) []byte {
	data := make([]byte, header)
	for at, value := range set {
		data[at] = value
	}
	for _, a := range attrs {
		data = append(data, a.Serialize()...)
	}
	return data
}

func text(kind int, s string) *nl.RtAttr { return nl.NewRtAttr(kind, nl.ZeroTerminated(s)) }

var _ = Describe("messages", func() {
	It("keep what a name holds, whatever bytes it has", func() {
		state, err := parseLink(message(unix.SizeofIfInfomsg, map[int]byte{4: 7}, text(unix.IFLA_IFNAME, "a\x1b[2J\"\xff")))
		Expect(err).NotTo(HaveOccurred())
		Expect(state.name).To(Equal("a\x1b[2J\"\xff"))
		Expect(state.index).To(Equal(7))
	})

	It("have no mac where it is all zero", func() {
		state, err := parseLink(message(unix.SizeofIfInfomsg, nil, nl.NewRtAttr(unix.IFLA_ADDRESS, make([]byte, 6))))
		Expect(err).NotTo(HaveOccurred())
		Expect(state.mac).To(BeEmpty())
	})

	It("tell a device behind the link", func() {
		state, err := parseLink(message(unix.SizeofIfInfomsg, nil, text(unix.IFLA_PARENT_DEV_NAME, "0000:08:06.3")))
		Expect(err).NotTo(HaveOccurred())
		Expect(state.parentDevice).To(BeTrue())
	})

	It("give the local address, not the peer's, in its shortest form", func() {
		mapped := netip.MustParseAddr("::ffff:192.0.2.10").As16()
		index, addr, err := parseAddress(message(unix.SizeofIfAddrmsg, map[int]byte{4: 9},
			nl.NewRtAttr(unix.IFA_LOCAL, mapped[:]), nl.NewRtAttr(unix.IFA_ADDRESS, []byte{192, 0, 2, 1})))
		Expect(err).NotTo(HaveOccurred())
		Expect(index).To(Equal(9))
		Expect(addr.String()).To(Equal("192.0.2.10"))
	})

	It("are refused when they end early", func() {
		_, err := parseLink(make([]byte, 3))
		Expect(err).To(MatchError(errShort))
		_, _, err = parseAddress(append(make([]byte, unix.SizeofIfAddrmsg), 200, 0, 1, 0))
		Expect(err).To(MatchError(errShort))
	})
})

// nextHop is a hop of a multipath route.
type nextHop struct {
	index int
	gw    string
}

func multipath(hops ...nextHop) *nl.RtAttr {
	var value []byte
	for _, h := range hops {
		hop := &nl.RtNexthop{RtNexthop: unix.RtNexthop{Ifindex: int32(h.index)}, Children: []nl.NetlinkRequestData{gateway(h.gw)}}
		value = append(value, hop.Serialize()...)
	}
	return nl.NewRtAttr(unix.RTA_MULTIPATH, value)
}

var _ = DescribeTable("a route",
	func(set map[int]byte, want string, attrs ...*nl.RtAttr) {
		// Family, dst_len, src_len, tos, table, protocol, scope, type.
		header := map[int]byte{0: unix.AF_INET, 4: unix.RT_TABLE_MAIN, 7: unix.RTN_UNICAST}
		for at, value := range set {
			header[at] = value
		}
		route, ok, err := parseDefaultRoute(message(unix.SizeofRtMsg, header, attrs...), 7)
		Expect(err).NotTo(HaveOccurred())
		got := "none"
		if ok {
			got = fmt.Sprintf("%v via %v metric %d", map[bool]string{true: "IPv6", false: "IPv4"}[route.IPv6], route.NextHop, route.Metric)
		}
		Expect(got).To(Equal(want))
	},
	Entry("through the link", nil, "IPv4 via 169.254.1.1 metric 3", through(7), gateway("169.254.1.1"), metric(3)),
	Entry("without a gateway", nil, "IPv4 via invalid IP metric 0", through(7)),
	Entry("through another link", nil, "none", through(8), gateway("169.254.1.1")),
	Entry("to half of the Internet", map[int]byte{1: 1}, "none", through(7), gateway("169.254.1.1")),
	Entry("that is a blackhole", map[int]byte{7: unix.RTN_BLACKHOLE}, "none", through(7)),
	Entry("of another table", map[int]byte{4: 100}, "none", through(7)),
	Entry("with a hop through the link", nil, "IPv4 via 192.0.2.7 metric 0", multipath(nextHop{8, "192.0.2.8"}, nextHop{7, "192.0.2.7"}, nextHop{7, "192.0.2.77"})),
	Entry("with hops through others", nil, "none", multipath(nextHop{8, "192.0.2.8"}, nextHop{9, "192.0.2.9"})),
)

func through(index uint32) *nl.RtAttr { return nl.NewRtAttr(unix.RTA_OIF, nl.Uint32Attr(index)) }
func metric(m uint32) *nl.RtAttr      { return nl.NewRtAttr(unix.RTA_PRIORITY, nl.Uint32Attr(m)) }
func gateway(gw string) *nl.RtAttr    { return nl.NewRtAttr(unix.RTA_GATEWAY, net.ParseIP(gw).To4()) }

var _ = DescribeTable("a list of addresses is asked for",
	func(split bool, fault error, further ...string) {
		asked := []string{}
		answers := map[string][]string{
			"link's":         {"192.0.2.10"},
			"all IPv4":       {"192.0.2.12", "192.0.2.10"},
			"all IPv6":       {"2001:db8::10"},
			"all IPv4 again": {"192.0.2.11", "192.0.2.12"},
			"all IPv6 again": {"2001:db8::10"},
		}
		addrs, err := whole(func(family int, filtered bool) (addrs []netip.Addr, splits bool, err error) {
			question := map[int]string{unix.AF_UNSPEC: "link's", unix.AF_INET: "all IPv4", unix.AF_INET6: "all IPv6"}[family]
			Expect(filtered).To(Equal(family == unix.AF_UNSPEC))
			if slices.Contains(asked, question) {
				question += " again"
			}
			asked = append(asked, question)
			for _, a := range answers[question] {
				addrs = append(addrs, addr(a))
			}
			if family == unix.AF_UNSPEC {
				return addrs, split, fault
			}
			return addrs, true, nil
		})
		Expect(asked).To(Equal(append([]string{"link's"}, further...)))
		if len(further) > 0 {
			Expect(err).NotTo(HaveOccurred())
			Expect(addrs).To(Equal([]netip.Addr{addr("192.0.2.10"), addr("192.0.2.11"), addr("192.0.2.12"), addr("2001:db8::10")}), "what any answer has, once")
		} else if fault != nil {
			Expect(err).To(MatchError(fault))
		} else {
			Expect(err).NotTo(HaveOccurred())
			Expect(addrs).To(Equal([]netip.Addr{addr("192.0.2.10")}))
		}
	},
	Entry("once, of the link, when it came in one piece", false, nil),
	Entry("again, of all links and twice, when it came in several", true, nil, "all IPv4", "all IPv6", "all IPv4 again", "all IPv6 again"),
	Entry("again, of all links and twice, when the kernel refuses the filter", false, unix.EINVAL, "all IPv4", "all IPv6", "all IPv4 again", "all IPv6 again"),
	Entry("once, when the link is gone", false, unix.ENODEV),
)

var _ = It("takes a list for a part when one of its pieces was interrupted", func() {
	for piece := range 4 {
		asked := 0
		addrs, err := whole(func(int, bool) ([]netip.Addr, bool, error) {
			asked++
			if asked == piece+2 {
				return []netip.Addr{addr("192.0.2.11")}, true, errDumpInterrupted
			}
			return []netip.Addr{addr("192.0.2.10")}, true, nil
		})
		Expect(err).To(MatchError(errDumpInterrupted))
		Expect(asked).To(Equal(piece + 2))
		Expect(addrs).To(ContainElement(addr("192.0.2.11")), "what it has is there")
	}
})

// dialPod opens a socket in the namespace for as long as the spec.
func dialPod(path string) *socket {
	GinkgoHelper()
	fd, err := netns.GetFromPath(path)
	Expect(err).NotTo(HaveOccurred())
	defer fd.Close()
	id, err := identity(fd)
	Expect(err).NotTo(HaveOccurred())
	s, current, err := dial(fd, id, false)
	Expect(err).NotTo(HaveOccurred())
	Expect(current).To(BeFalse())
	DeferCleanup(s.Close)
	Expect(s.SetTimeout(time.Minute)).To(Succeed())
	return s
}

// addMany gives a link of the namespace many addresses.
func addMany(ns *podns.NS, name string, many int) netlink.Link {
	GinkgoHelper()
	link, err := ns.Netlink.LinkByName(name)
	Expect(err).NotTo(HaveOccurred())
	for i := range many {
		a, err := netlink.ParseAddr(fmt.Sprintf("10.0.%d.%d/32", i/250, i%250+1))
		Expect(err).NotTo(HaveOccurred())
		Expect(ns.Netlink.AddrAdd(link, a)).To(Succeed())
	}
	return link
}

var _ = Describe("the socket", func() {
	It("asks for the addresses of one link, however many others there are", func() {
		ns := newPod("192.0.2.10/24")
		peer := addMany(ns, "peer0", 200)
		s := dialPod(ns.Path)
		peers, err := s.Addresses(peer.Attrs().Index)
		Expect(err).NotTo(HaveOccurred())
		Expect(len(peers)).To(BeNumerically(">=", 200))

		link, err := s.Link("eth0")
		Expect(err).NotTo(HaveOccurred())
		messages := 0
		request := nl.NewNetlinkRequest(unix.RTM_GETADDR, unix.NLM_F_DUMP)
		header := nl.NewIfAddrmsg(unix.AF_INET)
		header.Index = uint32(link.index)
		request.AddData(header)
		Expect(s.exchange(request, func([]byte) error { messages++; return nil })).To(Succeed())
		Expect(messages).To(Equal(1), "the kernel filters")

		_, err = s.Link("gone")
		Expect(err).To(MatchError(unix.ENODEV))
		_, err = s.Addresses(1 << 20)
		Expect(err).To(MatchError(unix.ENODEV))
	})

	It("notices that something changed during a dump", func() {
		ns := newPod()
		// More than one datagram holds, so that the dump is not over when it begins.
		link := addMany(ns, "eth0", 2000)
		s := dialPod(ns.Path)
		request := nl.NewNetlinkRequest(unix.RTM_GETADDR, unix.NLM_F_DUMP)
		request.AddData(nl.NewIfAddrmsg(unix.AF_INET))
		change := sync.OnceFunc(func() {
			a, err := netlink.ParseAddr("198.51.100.1/32")
			Expect(err).NotTo(HaveOccurred())
			Expect(ns.Netlink.AddrAdd(link, a)).To(Succeed())
		})
		Expect(s.exchange(request, func([]byte) error { change(); return nil })).To(MatchError(errDumpInterrupted))

		addrs, err := s.Addresses(link.Attrs().Index)
		Expect(err).NotTo(HaveOccurred(), "the next one is whole")
		Expect(len(addrs)).To(BeNumerically(">=", 2001))
	})

	It("asks again, without the filter, when the kernel cannot say whether a long list is whole", func() {
		ns := newPod("192.0.2.10/24")
		s := dialPod(ns.Path)
		eth0, err := s.Link("eth0")
		Expect(err).NotTo(HaveOccurred())
		asked := s.seq
		_, err = s.Addresses(eth0.index)
		Expect(err).NotTo(HaveOccurred())
		Expect(s.seq).To(Equal(asked+1), "one datagram is one walk")

		addMany(ns, "eth0", 2000)
		asked = s.seq
		addrs, err := s.Addresses(eth0.index)
		Expect(err).NotTo(HaveOccurred())
		Expect(len(addrs)).To(BeNumerically(">=", 2001))
		Expect(s.seq).To(Equal(asked+5), "once of the link, twice of each family")
	})

	It("reads a link with all the alternative names that it can have", func() {
		ns := newPod()
		link, err := ns.Netlink.LinkByName("eth0")
		Expect(err).NotTo(HaveOccurred())
		for i := range 450 {
			Expect(ns.Netlink.LinkAddAltName(link, fmt.Sprintf("%0120d", i))).To(Succeed())
		}
		state, err := dialPod(ns.Path).Link("eth0")
		Expect(err).NotTo(HaveOccurred())
		Expect(state.mac.String()).To(Equal(link.Attrs().HardwareAddr.String()))
	})

	It("is done in time, however much others send", func() {
		ns := newPod()
		s, other := dialPod(ns.Path), dialPod(ns.Path)
		_, err := s.Link("lo")
		Expect(err).NotTo(HaveOccurred())
		own, err := unix.Getsockname(s.fd)
		Expect(err).NotTo(HaveOccurred())
		Expect(s.SetTimeout(50 * time.Millisecond)).To(Succeed())

		received := make(chan error)
		go func() {
			_, err := s.receive()
			received <- err
		}()
		send := func() error {
			// A full queue drops it, which does no harm here.
			return unix.Sendto(other.fd, nl.NewNetlinkRequest(unix.RTM_NEWLINK, 0).Serialize(), unix.MSG_DONTWAIT, own)
		}
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for deadline := time.After(20 * time.Second); ; {
			select {
			case err := <-received:
				Expect(err).To(MatchError(os.ErrDeadlineExceeded))
				return
			case <-tick.C:
				Expect(send()).To(Or(Succeed(), MatchError(unix.EAGAIN)))
			case <-deadline:
				Fail("it goes on for as long as somebody sends")
			}
		}
	})

	It("believes the kernel only", func() {
		ns := newPod()
		s := dialPod(ns.Path)
		_, err := s.Link("lo")
		Expect(err).NotTo(HaveOccurred())
		own, err := unix.Getsockname(s.fd)
		Expect(err).NotTo(HaveOccurred())
		forged := nl.NewNetlinkRequest(unix.RTM_NEWLINK, 0)
		forged.Seq = s.seq + 1
		forged.AddData(nl.NewIfInfomsg(unix.AF_UNSPEC))
		forged.AddData(text(unix.IFLA_IFNAME, "forged0"))
		Expect(unix.Sendto(dialPod(ns.Path).fd, forged.Serialize(), 0, own)).To(Succeed())

		link, err := s.Link("eth0")
		Expect(err).NotTo(HaveOccurred())
		Expect(link.name).To(Equal("eth0"))
	})
})

// FuzzMessages gives the parsers any bytes, as if the kernel had sent them.
func FuzzMessages(f *testing.F) {
	f.Add(message(unix.SizeofIfInfomsg, map[int]byte{4: 7}, text(unix.IFLA_IFNAME, "eth0"), nl.NewRtAttr(unix.IFLA_ADDRESS, make([]byte, 20))))
	f.Add(message(unix.SizeofIfAddrmsg, map[int]byte{4: 7}, nl.NewRtAttr(unix.IFA_LOCAL, []byte{192, 0, 2, 10})))
	f.Add(message(unix.SizeofRtMsg, map[int]byte{0: unix.AF_INET, 4: unix.RT_TABLE_MAIN, 7: unix.RTN_UNICAST}, multipath(nextHop{7, "192.0.2.7"})))
	f.Fuzz(func(t *testing.T, data []byte) {
		state, err := parseLink(data)
		if err == nil && len(state.name) > len(data) {
			t.Errorf("a name of %d bytes from %d", len(state.name), len(data))
		}
		if _, addr, err := parseAddress(data); err == nil && addr.Is4In6() {
			t.Errorf("%v is not in its shortest form", addr)
		}
		if route, ok, err := parseDefaultRoute(data, 7); (err != nil || !ok) && ok {
			t.Errorf("%v and %v", route, err)
		} else if ok && data[1] != 0 {
			t.Errorf("a prefix of %d bits is no default route", data[1])
		}
	})
}
