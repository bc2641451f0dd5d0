// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/result-enricher/result-enricher/internal/podns"
)

// newPod makes a namespace with a veth eth0 in it.
func newPod(addresses ...string) *podns.NS {
	GinkgoHelper()
	ns, err := podns.New("/run/netns/pod")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(ns.Close)
	Expect(ns.AddPair("eth0", "peer0", 1450, addresses...)).To(Succeed())
	return ns
}

func openPod(path string) *Sandbox {
	GinkgoHelper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	DeferCleanup(cancel)
	s, err := Open(ctx, path)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(s.Close)
	return s
}

var _ = Describe("a real namespace", func() {
	It("shows the pod link as the kernel has it", func() {
		ns := newPod("192.0.2.10/24", "2001:db8::10/64")
		link, err := ns.Netlink.LinkByName("eth0")
		Expect(err).NotTo(HaveOccurred())
		peered, err := netlink.ParseAddr("198.51.100.7/32")
		Expect(err).NotTo(HaveOccurred())
		peered.Peer, err = netlink.ParseIPNet("198.51.100.1/24")
		Expect(err).NotTo(HaveOccurred())
		Expect(ns.Netlink.AddrAdd(link, peered)).To(Succeed())

		obs := openPod(ns.Path).Observe(Request{IfName: "eth0", Links: []string{"peer0", "gone"}})
		Expect(obs.Err).NotTo(HaveOccurred())
		Expect(obs.Link.MAC).To(Equal(link.Attrs().HardwareAddr.String()))
		Expect(obs.Link.MTU).To(Equal(1450))
		Expect(obs.Link.AddressesComplete).To(BeTrue())
		// The local address of the peered one, not the peer's, and the tentative
		// link-local one too.
		Expect(obs.Link.Addresses).To(ContainElements(
			netip.MustParseAddr("192.0.2.10"), netip.MustParseAddr("2001:db8::10"), netip.MustParseAddr("198.51.100.7")))
		Expect(obs.Link.Addresses).NotTo(ContainElement(netip.MustParseAddr("198.51.100.1")))
		peer, err := ns.Netlink.LinkByName("peer0")
		Expect(err).NotTo(HaveOccurred())
		Expect(obs.MACs).To(Equal(map[string]string{"peer0": peer.Attrs().HardwareAddr.String()}))
	})

	It("shows the default routes of the main table", func() {
		ns := newPod("192.0.2.10/24", "2001:db8::10/64")
		link, err := ns.Netlink.LinkByName("eth0")
		Expect(err).NotTo(HaveOccurred())
		add := func(dst, gw string, metric, table int) {
			GinkgoHelper()
			network, err := netlink.ParseIPNet(dst)
			Expect(err).NotTo(HaveOccurred())
			Expect(ns.Netlink.RouteAdd(&netlink.Route{
				LinkIndex: link.Attrs().Index, Dst: network, Gw: netip.MustParseAddr(gw).AsSlice(), Priority: metric, Table: table,
			})).To(Succeed())
		}
		add("0.0.0.0/0", "192.0.2.1", 200, unix.RT_TABLE_MAIN)
		add("0.0.0.0/0", "192.0.2.2", 100, unix.RT_TABLE_MAIN)
		add("0.0.0.0/0", "192.0.2.3", 50, 100)
		add("0.0.0.0/1", "192.0.2.4", 10, unix.RT_TABLE_MAIN)
		add("::/0", "2001:db8::1", 300, unix.RT_TABLE_MAIN)

		obs := openPod(ns.Path).Observe(Request{IfName: "eth0", DefaultRoutes: true})
		Expect(obs.Err).NotTo(HaveOccurred())
		metrics := map[string]int{}
		for _, route := range obs.Link.DefaultRoutes {
			metrics[route.NextHop.String()] = route.Metric
		}
		Expect(metrics).To(Equal(map[string]int{"192.0.2.1": 200, "192.0.2.2": 100, "2001:db8::1": 300}))
	})

	It("says that there is no pod link", func() {
		ns := newPod()
		s := openPod(ns.Path)
		Expect(s.Observe(Request{IfName: "net1"}).Err).NotTo(HaveOccurred())
		Expect(s.Observe(Request{IfName: "net1"}).Link).To(BeNil())
		_, err := s.MAC("net1")
		Expect(err).To(MatchError(ErrNoLink))
	})

	It("recognises other spellings of its path, and no other namespace", func() {
		ns := newPod()
		other, err := podns.New("/run/netns/other")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(other.Close)
		link := filepath.Join(GinkgoT().TempDir(), "link")
		Expect(os.Symlink(ns.Path, link)).To(Succeed())
		Expect(openPod(ns.Path).Same([]string{link, other.Path, "/host" + ns.Path, "/run/netns/../netns/pod"})).
			To(Equal([]string{link, "/run/netns/../netns/pod"}))
		Expect(openPod(ns.Path).IsCurrent()).To(BeFalse())
		Expect(openPod("/proc/self/ns/net").IsCurrent()).To(BeTrue())
	})

	DescribeTable("is left open by nothing, and the thread is back in its own namespace",
		func(opening func(context.Context, string) (*Sandbox, error)) {
			ns := newPod()
			// As initializers are.
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			before, err := identify("/proc/thread-self/ns/net")
			Expect(err).NotTo(HaveOccurred())
			open := func() int {
				entries, err := os.ReadDir("/proc/self/fd")
				Expect(err).NotTo(HaveOccurred())
				return len(entries)
			}
			descriptors := open()
			s, err := opening(context.Background(), ns.Path)
			Expect(err).NotTo(HaveOccurred())
			Expect(s.IsCurrent()).To(BeFalse())
			Expect(open()).To(Equal(descriptors+2), "the namespace and one socket")
			Expect(s.Observe(Request{IfName: "eth0"}).Err).NotTo(HaveOccurred(), "without a deadline too")
			Expect(identify("/proc/thread-self/ns/net")).To(Equal(before))
			s.Close()
			Expect(open()).To(Equal(descriptors))

			// Somebody else's descriptors have the numbers now.
			others := []*os.File{}
			for range 2 {
				f, err := os.Open("/proc/self/ns/net")
				Expect(err).NotTo(HaveOccurred())
				others = append(others, f)
			}
			s.Close()
			for _, f := range others {
				Expect(f.Close()).To(Succeed(), "closing again closes nothing")
			}

			own, err := opening(context.Background(), "/proc/self/ns/net")
			Expect(err).NotTo(HaveOccurred())
			defer own.Close()
			Expect(own.IsCurrent()).To(BeTrue())
		},
		Entry("Open", Open),
		Entry("OpenInInit", OpenInInit),
	)
})

var _ = DescribeTable("a path that is no sandbox",
	func(path func() string, want error) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_, err := Open(ctx, path())
		Expect(err).To(MatchError(want))
	},
	Entry("nothing", func() string { return "/run/netns/gone" }, ErrNoNamespace),
	Entry("below a file", func() string { return "/proc/self/ns/net/x" }, ErrNoNamespace),
	Entry("a file", func() string { return "/etc/passwd" }, ErrNotNamespace),
	Entry("a directory", func() string { return "/" }, ErrNotNamespace),
	Entry("another kind of namespace", func() string { return "/proc/self/ns/mnt" }, ErrNotNamespace),
	Entry("a FIFO, which nobody writes to", func() string {
		path := filepath.Join(GinkgoT().TempDir(), "fifo")
		Expect(unix.Mkfifo(path, 0o600)).To(Succeed())
		return path
	}, ErrNotNamespace),
)
