// SPDX-License-Identifier: Apache-2.0

package attachment_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/containernetworking/cni/pkg/types"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vishvananda/netlink"

	"github.com/result-enricher/result-enricher/enrich/attachment"
)

// exampleNode and exampleVM make what the examples look at.
func exampleNode() (cacheDir string, done func()) {
	n, err := newNode()
	if err == nil {
		err = n.add("k8s-pod-network", "eth0", "0.3.1", enriched)
	}
	return n.example(err)
}

func exampleVM() (cacheDir string, done func()) {
	n, err := newNode()
	if err == nil && mayMakeTaps() {
		err = n.tap("tap0", 1500)
	}
	if err == nil {
		err = n.write("fcnet-vm-1-eth0", cacheFile("fcnet", "vm-1", "$NETNS", vm))
	}
	return n.example(err)
}

func (n *node) example(err error) (cacheDir string, done func()) {
	if err != nil {
		panic(err)
	}
	return n.cacheDir, func() {
		if err := n.close(); err != nil {
			fmt.Println(err)
		}
	}
}

// vm is what tc-redirect-tap makes of the Result of ptp.
const vm = `{"cniVersion":"1.0.0","interfaces":[{"name":"veth1"},
	{"name":"eth0","mac":"00:00:5e:00:53:01","sandbox":"$NETNS"},
	{"name":"tap0","mac":"00:00:5e:00:53:02","sandbox":"$NETNS"},
	{"name":"tap0","mac":"00:00:5e:00:53:01","sandbox":"vm-1"}],
	"ips":[{"interface":1,"address":"192.0.2.10/24","gateway":"192.0.2.1"},
	       {"interface":3,"address":"192.0.2.10/24","gateway":"192.0.2.1"}],
	"dns":{"nameservers":["192.0.2.53"]}}`

// cacheFile is a file of libcni, without the namespace when netns is empty, as
// libcni wrote it before v1.3.
func cacheFile(network, id, netns, result string) string {
	config, err := json.Marshal([]byte(`{"cniVersion":"1.0.0","name":"` + network + `"}`))
	Expect(err).NotTo(HaveOccurred())
	file := `{"kind":"cniCacheV1","containerId":"` + id + `","config":` + string(config) +
		`,"ifName":"eth0","networkName":"` + network + `","result":` + result
	if netns != "" {
		file += `,"netns":"` + netns + `"`
	}
	return file + "}"
}

var _ = Describe("an attachment", func() {
	var n *node
	ctx := context.Background()

	BeforeEach(func() {
		var err error
		n, err = newNode()
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(n.close)
	})

	one := func(opts ...attachment.Option) attachment.Attachment {
		GinkgoHelper()
		found, err := attachment.One(ctx, allocID, append(opts, attachment.WithCacheDirs(n.cacheDir))...)
		Expect(err).NotTo(HaveOccurred())
		return found
	}

	// whole is what a driver must get, whoever wrote the Result.
	whole := func(dns types.DNS) attachment.Attachment {
		return attachment.Attachment{
			ContainerID: allocID, Network: "k8s-pod-network", Interface: "eth0", Netns: n.netns, Kind: "veth",
			MAC: podMAC, MTU: 1450, HostDevice: hostDev, DNS: dns,
			Addresses: []attachment.Address{{
				Prefix: netip.MustParsePrefix("10.135.153.140/32"), Gateway: netip.MustParseAddr("169.254.1.1"),
			}},
			Routes: []attachment.Route{
				{Destination: netip.MustParsePrefix("0.0.0.0/0"), Gateway: netip.MustParseAddr("169.254.1.1")},
				{Destination: netip.MustParsePrefix("169.254.1.1/32")},
			},
		}
	}
	dns := types.DNS{Nameservers: []string{"10.96.0.10"}, Search: []string{"svc.local"}}

	DescribeTable("is whole, whoever wrote it and when", func(write func() error, dns types.DNS, opts func() []attachment.Option) {
		Expect(write()).To(Succeed())
		Expect(but(one(opts()...))).To(Equal(whole(dns)))
	},
		Entry("libcni, after result-enricher", func() error { return n.add("k8s-pod-network", "eth0", "0.3.1", enriched) }, dns, none),
		Entry("libcni, after Calico alone", func() error { return n.add("k8s-pod-network", "eth0", "0.3.1", calico) }, types.DNS{}, none),
		Entry("libcni without the namespace", func() error {
			return n.write("k8s-pod-network-"+allocID+"-eth0", cacheFile("k8s-pod-network", allocID, "", enriched))
		}, dns, none),
		Entry("the same, and the Result does not say it either", func() error {
			return n.write("k8s-pod-network-"+allocID+"-eth0", cacheFile("k8s-pod-network", allocID, "", calico))
		}, types.DNS{}, func() []attachment.Option { return []attachment.Option{attachment.WithNetns(n.netns)} }),
		Entry("libcni when it kept the bare Result", func() error {
			return n.write("k8s-pod-network-"+allocID+"-eth0", enriched)
		}, dns, none),
		Entry("and under any name", func() error {
			return n.write("whatever", cacheFile("k8s-pod-network", allocID, "$NETNS", enriched))
		}, dns, none),
	)

	It("keeps what the chain answered, and the version of its configuration", func() {
		Expect(n.add("k8s-pod-network", "eth0", "0.3.1", enriched)).To(Succeed())
		found := one()
		Expect(found.Result).To(MatchJSON(strings.ReplaceAll(enriched, "$NETNS", n.netns)))
		Expect(found.CNIVersion).To(Equal("0.3.1"))
	})

	It("has what the kernel says when the Result says nothing", func() {
		Expect(n.write("x", cacheFile("k8s-pod-network", allocID, "$NETNS", `{}`))).To(Succeed())
		Expect(but(one())).To(Equal(whole(types.DNS{})))
	})

	It("follows the kernel where a mac is not one, and keeps the Result's routes", func() {
		Expect(n.add("k8s-pod-network", "eth0", "1.0.0", `{"cniVersion":"1.0.0",
			"interfaces":[{"name":"eth0","mac":"2","sandbox":"$NETNS"}],
			"ips":[{"interface":0,"address":"10.135.153.140/32","gateway":"10.0.0.1"}],
			"routes":[{"dst":"198.51.100.0/24","gw":"10.0.0.2"}]}`)).To(Succeed())
		found := one()
		Expect(found.MAC).To(Equal(podMAC))
		Expect(found.Addresses[0].Gateway).To(Equal(netip.MustParseAddr("10.0.0.1")))
		Expect(found.Routes).To(Equal([]attachment.Route{{
			Destination: netip.MustParsePrefix("198.51.100.0/24"), Gateway: netip.MustParseAddr("10.0.0.2"),
		}}))
	})

	It("has the gateway in force: that of the lowest metric, and none where only the Result has a route", func() {
		Expect(n.pair("net1", "host1", "02:00:00:00:00:01", "192.0.2.7/24")).To(Succeed())
		link, err := n.ns.Netlink.LinkByName("net1")
		Expect(err).NotTo(HaveOccurred())
		for gateway, metric := range map[string]int{"192.0.2.1": 300, "192.0.2.2": 200, "192.0.2.3": 400} {
			Expect(n.ns.Netlink.RouteAdd(&netlink.Route{
				LinkIndex: link.Attrs().Index, Gw: net.ParseIP(gateway), Priority: metric,
				Dst: &net.IPNet{IP: net.IPv4zero, Mask: net.CIDRMask(0, 32)},
			})).To(Succeed())
		}
		Expect(n.add("second", "net1", "1.0.0", `{"cniVersion":"1.0.0","interfaces":[{"name":"net1","sandbox":"$NETNS"}],
			"ips":[{"interface":0,"address":"192.0.2.7/24"},{"interface":0,"address":"2001:db8::7/64"}],
			"routes":[{"dst":"::/0","gw":"2001:db8::1"}]}`)).To(Succeed())
		Expect(one().Addresses).To(Equal([]attachment.Address{
			{Prefix: netip.MustParsePrefix("192.0.2.7/24"), Gateway: netip.MustParseAddr("192.0.2.2")},
			{Prefix: netip.MustParsePrefix("2001:db8::7/64")},
		}))
	})

	It("understands another mount namespace's spelling of the sandbox", func() {
		Expect(n.write("x", cacheFile("k8s-pod-network", allocID, "/elsewhere/netns",
			strings.ReplaceAll(enriched, "$NETNS", "/elsewhere/netns")))).To(Succeed())
		Expect(but(one(attachment.WithNetns(n.netns)))).To(Equal(whole(dns)))
	})

	if mayMakeTaps() {
		It("has the tap and the machine's MAC that the Result names", func() {
			Expect(n.tap("tap0", 1400)).To(Succeed())
			Expect(n.tap("tap1", 1500)).To(Succeed())
			Expect(n.write("x", cacheFile("fcnet", allocID, "$NETNS",
				strings.NewReplacer("vm-1", allocID, `"00:00:5e:00:53:01","sandbox":"vm-1"`, `"02:00:00:00:00:07","sandbox":"`+allocID+`"`).Replace(vm)))).To(Succeed())
			Expect(one().Tap).To(Equal(&attachment.Tap{Name: "tap0", MTU: 1400, GuestMAC: "02:00:00:00:00:07"}))
		})

		It("has the only tap there is when the Result names none, and none of two", func() {
			Expect(n.add("k8s-pod-network", "eth0", "0.3.1", calico)).To(Succeed())
			Expect(one().Tap).To(BeNil())
			Expect(n.tap("tap1", 1500)).To(Succeed())
			Expect(one().Tap).To(Equal(&attachment.Tap{Name: "tap1", MTU: 1500, GuestMAC: podMAC}))
			Expect(n.tap("tap2", 1500)).To(Succeed())
			Expect(one().Tap).To(BeNil())
		})
	}

	It("is one of several, by interface", func() {
		Expect(n.pair("net1", "host1", "02:00:00:00:00:01", "192.0.2.7/24")).To(Succeed())
		Expect(n.add("second", "net1", "1.0.0", `{"cniVersion":"1.0.0","interfaces":[{"name":"net1","sandbox":"$NETNS"}],
			"ips":[{"interface":0,"address":"192.0.2.7/24"}]}`)).To(Succeed())
		Expect(n.add("k8s-pod-network", "eth0", "0.3.1", enriched)).To(Succeed())
		dirs := attachment.WithCacheDirs(n.cacheDir)

		_, err := attachment.One(ctx, allocID, dirs)
		Expect(err).To(MatchError(attachment.ErrSeveral))
		Expect(err).To(MatchError(ContainSubstring("eth0 of network k8s-pod-network, net1 of network second")))
		all, err := attachment.Find(ctx, allocID, dirs)
		Expect(err).NotTo(HaveOccurred())
		Expect(all).To(HaveLen(2))
		Expect(but(all[0])).To(Equal(whole(dns)))
		second := one(attachment.WithInterface("net1"))
		Expect(second).To(Equal(all[1]))
		Expect([]any{second.HostDevice, second.MAC}).To(Equal([]any{"host1", "02:00:00:00:00:01"}))
		Expect(second.Addresses).To(Equal([]attachment.Address{{Prefix: netip.MustParsePrefix("192.0.2.7/24")}}),
			"the default route is eth0's")
	})

	It("is multus's own where the runtime has one of the same interface", func() {
		multus := GinkgoT().TempDir()
		Expect(n.add("multus-cni-network", "eth0", "0.3.1", enriched)).To(Succeed())
		Expect(os.WriteFile(filepath.Join(multus, "x"), []byte(strings.ReplaceAll(
			cacheFile("k8s-pod-network", allocID, "$NETNS", enriched), "$NETNS", n.netns)), 0o600)).To(Succeed())
		all, err := attachment.Find(ctx, allocID, attachment.WithCacheDirs(n.cacheDir, multus))
		Expect(err).NotTo(HaveOccurred())
		Expect(all).To(HaveLen(1))
		Expect(but(all[0])).To(Equal(whole(dns)))
	})

	It("says what it knows of a namespace that is gone, and that this is not all", func() {
		Expect(n.write("x", cacheFile("k8s-pod-network", allocID, "/run/netns/gone", `{"cniVersion":"1.0.0",
			"interfaces":[{"name":"cali1"},{"name":"eth0","mac":"`+podMAC+`","mtu":1400,"sandbox":"/run/netns/gone"}],
			"ips":[{"interface":1,"address":"10.1.1.5/32"}],"routes":[{"dst":"0.0.0.0/0","gw":"169.254.1.1"}]}`))).To(Succeed())
		found, err := attachment.One(ctx, allocID, attachment.WithCacheDirs(n.cacheDir))
		Expect(err).To(MatchError(attachment.ErrIncomplete))
		Expect(err).To(MatchError(ContainSubstring("/run/netns/gone")))
		Expect([]any{found.MAC, found.MTU, found.HostDevice}).To(Equal([]any{podMAC, 1400, ""}))
		Expect(found.Addresses).To(Equal([]attachment.Address{{
			Prefix: netip.MustParsePrefix("10.1.1.5/32"), Gateway: netip.MustParseAddr("169.254.1.1"),
		}}), "the route of the Result has to do")

		all, err := attachment.List(ctx, attachment.WithCacheDirs(n.cacheDir))
		Expect(err).NotTo(HaveOccurred())
		Expect(all).To(HaveLen(1))
		Expect(all[0].Incomplete).To(MatchError(attachment.ErrIncomplete))
	})
})

func none() []attachment.Option { return nil }

// but is the attachment without what differs from one cache to another.
func but(a attachment.Attachment) attachment.Attachment {
	a.CNIVersion, a.Result = "", nil
	return a
}
