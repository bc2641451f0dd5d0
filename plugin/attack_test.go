// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vishvananda/netlink"

	"github.com/result-enricher/result-enricher/internal/fieldcase"
	"github.com/result-enricher/result-enricher/internal/podns"
)

// The attacker of these specs has every right in the network namespace of the
// pod, which is more than a container has by default.

type object = map[string]any

func decoded(document string) object {
	GinkgoHelper()
	var o object
	Expect(json.Unmarshal([]byte(document), &o)).To(Succeed(), document)
	return o
}

func list(o object, key string) []object {
	GinkgoHelper()
	entries := []object{}
	all, _ := o[key].([]any)
	for _, entry := range all {
		Expect(entry).To(BeAssignableToTypeOf(object{}))
		entries = append(entries, entry.(object))
	}
	return entries
}

// The entries of a Result that an attacked pod takes part in.
const (
	hostEntry = iota
	podsEntry
	otherEntry // a second interface of the pod, without a mac: R5
	foreignEntry
)

const (
	otherMAC  = "02:00:00:00:00:99"
	hostIP    = "198.51.100.1"
	foreignIP = "203.0.113.5"
)

// besieged is a Result with an entry of every kind, in a version that says mtu.
// What the entries of others do not say is what somebody could fill in wrongly.
func besieged(netns string) string {
	return `{"cniVersion":"1.0.0","interfaces":[
		{"name":"cali0"},{"name":"eth0","sandbox":"` + netns + `"},{"name":"net1","sandbox":"` + netns + `"},{"name":"tap0","sandbox":"vm-1"}],
		"ips":[{"address":"192.0.2.10/32","interface":1},{"address":"` + hostIP + `/32","interface":0,"gateway":"198.51.100.254"},
		{"address":"` + foreignIP + `/24","interface":3},{"address":"2001:db8::9/64"}],
		"routes":[{"dst":"0.0.0.0/0","gw":"169.254.1.1"}],"dns":{"nameservers":["192.0.2.53"]}}`
}

// ownEntryOnly compares what came out with what went in: everything but the
// entries of the pod's own links, and which of its own addresses are whose.
func ownEntryOnly(before, after string) {
	GinkgoHelper()
	was, is := decoded(before), decoded(after)
	for _, key := range []string{"cniVersion", "routes", "dns"} {
		Expect(is[key]).To(Equal(was[key]), key)
	}
	entries := list(is, "interfaces")
	Expect(entries).To(HaveLen(4))
	for i, entry := range list(was, "interfaces") {
		for key, value := range entry {
			Expect(entries[i]).To(HaveKeyWithValue(key, value), "interfaces[%d]", i)
		}
		mayBeAdded := [][]string{podsEntry: {"mac", "mtu"}, otherEntry: {"mac"}, foreignEntry: nil}[i]
		for key := range entries[i] {
			Expect(entry[key] != nil || slices.Contains(mayBeAdded, key)).To(BeTrue(), "interfaces[%d].%s was added", i, key)
		}
	}
	addresses := list(is, "ips")
	Expect(addresses).To(HaveLen(4))
	for i, ip := range list(was, "ips") {
		if i == 0 {
			// The gateway of the pod's own address is the pod's.
			delete(addresses[i], "gateway")
		}
		Expect(addresses[i]).To(Equal(ip), "ips[%d]", i)
	}
}

// oneLineEach reads a log and sees that no record can be taken for two, or for
// a command to a terminal.
func oneLineEach(log string) []record {
	GinkgoHelper()
	for line := range strings.Lines(log) {
		Expect(strings.ContainsFunc(strings.TrimSuffix(line, "\n"), func(r rune) bool { return r < ' ' })).To(BeFalse(), "%q", line)
	}
	return records(log)
}

// must is for what an attacker does.
func must(err error) {
	GinkgoHelper()
	Expect(err).NotTo(HaveOccurred())
}

func linkOf(ns *podns.NS, name string) netlink.Link {
	GinkgoHelper()
	link, err := ns.Netlink.LinkByName(name)
	must(err)
	return link
}

// bridge makes a link of another kind, with any name that the kernel takes.
func bridge(ns *podns.NS, name string) netlink.Link {
	GinkgoHelper()
	link := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: name}}
	must(ns.Netlink.LinkAdd(link))
	return link
}

func addAddress(ns *podns.NS, link netlink.Link, address string) {
	GinkgoHelper()
	addr, err := netlink.ParseAddr(address)
	must(err)
	must(ns.Netlink.AddrAdd(link, addr))
}

var secondLink = fieldcase.Link{Name: "net1", Kind: "veth", MAC: "00:00:5e:00:53:02", MTU: 1500}

var _ = Describe("an attacker inside the pod", func() {
	var ns *podns.NS

	BeforeEach(func() { ns = newPod("cni-attack", []fieldcase.Link{podLink, secondLink}, nil) })

	DescribeTable("reaches nothing but the pod's own entries, which say what the kernel says",
		func(attack func()) {
			attack()
			prev := besieged(ns.Path)
			a := start(environment("ADD", ns.Path), conf("1.0.0", `"gateways":true,"logLevel":"debug"`, prev))
			Expect(a.code).To(Equal(0))
			oneLineEach(a.stderr)
			ownEntryOnly(prev, a.stdout)

			entry := list(decoded(a.stdout), "interfaces")[podsEntry]
			link, err := ns.Netlink.LinkByName("eth0")
			if err != nil || len(link.Attrs().HardwareAddr) != 6 || link.Attrs().Name != "eth0" {
				Expect(a.stdout).To(Equal(prev), "there is no pod link, so nothing is said about it")
				return
			}
			if a.stdout == prev {
				// Only what makes the link unreadable, which hurts nobody but the pod.
				Expect(records(a.stderr)).To(ContainElement(HaveField("Level", "WARN")))
				return
			}
			Expect(entry["mac"]).To(Equal(link.Attrs().HardwareAddr.String()))
			Expect(entry["mtu"]).To(BeEquivalentTo(link.Attrs().MTU))
		},
		Entry("with names that are commands to a terminal, quotes, markup, no UTF-8", func() {
			for _, name := range []string{"a\x1b[2J", "b\x07\x08\x7f", `c"},{"d","`, `e\`, "f\xff\xfe", "<g>&", "\xc2\x9b2J", "é", "-", "..."} {
				bridge(ns, name)
			}
		}),
		Entry("with the names of the host's and the VM's interfaces", func() {
			for _, name := range []string{"cali0", "tap0"} {
				addAddress(ns, bridge(ns, name), foreignIP+"/24")
			}
		}),
		Entry("with alternative names that are those of the others", func() {
			must(ns.Netlink.LinkAddAltName(linkOf(ns, "eth0"), "cali0"))
			must(ns.Netlink.LinkAddAltName(linkOf(ns, "net1"), "tap0"))
		}),
		Entry("with an alternative name in the place of the pod link", func() {
			must(ns.Netlink.LinkDel(linkOf(ns, "eth0")))
			must(ns.Netlink.LinkAddAltName(bridge(ns, "br0"), "eth0"))
		}),
		Entry("with alternative names until the answer is longer than 64 KiB", func() {
			link := linkOf(ns, "eth0")
			for i := 0; ; i++ {
				if err := ns.Netlink.LinkAddAltName(link, fmt.Sprintf("%0120d", i)); err != nil {
					Expect(i).To(BeNumerically(">", 300), "the kernel's limit is that of an attribute: %v", err)
					return
				}
			}
		}),
		Entry("with one mac on both links", func() { setMAC(ns, "eth0", otherMAC); setMAC(ns, "net1", otherMAC) }),
		Entry("with the largest mtu", func() { must(ns.Netlink.LinkSetMTU(linkOf(ns, "eth0"), 65535)) }),
		Entry("with the smallest mtu", func() { must(ns.Netlink.LinkSetMTU(linkOf(ns, "eth0"), 68)) }),
		Entry("with the VM's address, and nearly the host's", func() {
			addAddress(ns, linkOf(ns, "eth0"), foreignIP+"/32")
			addAddress(ns, linkOf(ns, "eth0"), "198.51.100.2/0")
		}),
		Entry("with 300 links", func() {
			for i := range 150 {
				pair := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: fmt.Sprintf("a%d", i)}, PeerName: fmt.Sprintf("b%d", i)}
				must(ns.Netlink.LinkAdd(pair))
				// Removed with the namespace, all at once, they keep the kernel from
				// the links of the specs that follow for seconds.
				DeferCleanup(ns.Netlink.LinkDel, pair)
			}
		}),
		Entry("with 5,000 addresses", func() {
			link := linkOf(ns, "eth0")
			for i := range 5_000 {
				addAddress(ns, link, fmt.Sprintf("10.0.%d.%d/32", i>>8, i&255))
			}
		}),
		Entry("with 2,000 routes, among them default routes of every kind", func() {
			link := linkOf(ns, "eth0")
			addAddress(ns, link, "192.0.2.10/24")
			for i := range 2_000 {
				must(ns.Netlink.RouteAdd(onLink(link, fmt.Sprintf("10.0.%d.%d/32", i>>8, i&255), "")))
			}
			for metric, gateway := range []string{"192.0.2.7", hostIP, ""} {
				route := onLink(link, "0.0.0.0/0", gateway)
				route.Priority = metric + 1
				if gateway != "" {
					route.Flags = int(netlink.FLAG_ONLINK)
				}
				must(ns.Netlink.RouteAdd(route))
			}
			must(ns.Netlink.RouteAdd(&netlink.Route{Dst: &net.IPNet{IP: net.IPv4zero, Mask: net.CIDRMask(0, 32)}, Priority: 9, MultiPath: []*netlink.NexthopInfo{
				{LinkIndex: link.Attrs().Index, Gw: net.ParseIP("192.0.2.8")}, {LinkIndex: link.Attrs().Index, Gw: net.ParseIP("192.0.2.9")},
			}}))
		}),
		Entry("with a bridge in the place of the pod link", func() {
			must(ns.Netlink.LinkDel(linkOf(ns, "eth0")))
			bridge(ns, "eth0")
		}),
		Entry("without a pod link", func() { must(ns.Netlink.LinkDel(linkOf(ns, "eth0"))) }),
		Entry("with an alias of two lines", func() {
			must(ns.Netlink.LinkSetAlias(linkOf(ns, "eth0"), "x\n{\"level\":\"ERROR\"}\n"))
		}),
	)

	It("can claim an address that the Result gives to the host, and no other", func() {
		addAddress(ns, linkOf(ns, "eth0"), hostIP+"/32")
		addAddress(ns, linkOf(ns, "eth0"), foreignIP+"/32")
		a := start(environment("ADD", ns.Path), conf("1.0.0", "", besieged(ns.Path)))
		var whose []any
		for _, ip := range list(decoded(a.stdout), "ips") {
			whose = append(whose, ip["interface"])
		}
		// R7: what the pod link holds is the pod's. AWS and Antrea need that.
		Expect(whose).To(Equal([]any{1.0, 1.0, 3.0, nil}))
	})

	It("gets no gateway but for the pod's own addresses", func() {
		link := linkOf(ns, "eth0")
		must(ns.Netlink.RouteAdd(onLink(link, "169.254.1.1/32", "")))
		must(ns.Netlink.RouteAdd(onLink(link, "0.0.0.0/0", "169.254.1.1")))
		a := start(environment("ADD", ns.Path), conf("1.0.0", `"gateways":true`, besieged(ns.Path)))
		var gateways []any
		for _, ip := range list(decoded(a.stdout), "ips") {
			gateways = append(gateways, ip["gateway"])
		}
		Expect(gateways).To(Equal([]any{"169.254.1.1", "198.51.100.254", nil, nil}))
	})

	It("cannot pass off another link as the pod's at CHECK", func() {
		must(ns.Netlink.LinkDel(linkOf(ns, "eth0")))
		fake := bridge(ns, "br0")
		must(ns.Netlink.LinkAddAltName(fake, "eth0"))
		setMAC(ns, "br0", podLink.MAC)
		prev := `{"cniVersion":"1.0.0","interfaces":[{"name":"eth0","mac":"` + podLink.MAC + `","sandbox":"` + ns.Path + `"}]}`
		Expect(start(environment("CHECK", ns.Path), conf("1.0.0", `"failurePolicy":"fail"`, prev)).cniError().Code).To(BeEquivalentTo(100))
	})

	if mayMakeTaps() {
		It("gets nothing for a link without a mac", func() {
			must(ns.Netlink.LinkDel(linkOf(ns, "eth0")))
			tun := &netlink.Tuntap{LinkAttrs: netlink.LinkAttrs{Name: "eth0"}, Mode: netlink.TUNTAP_MODE_TUN}
			must(netlink.LinkAdd(tun))
			pod, err := os.Open(ns.Path)
			must(err)
			defer pod.Close()
			must(netlink.LinkSetNsFd(tun, int(pod.Fd())))
			a := start(environment("ADD", ns.Path), conf("0.3.1", `"logLevel":"debug"`, calico))
			Expect(a.stdout).To(Equal(calico))
			Expect(oneLineEach(a.stderr)).To(HaveExactElements(HaveField("Level", "DEBUG")))
		})
	}
})

func setMAC(ns *podns.NS, name, address string) {
	GinkgoHelper()
	mac, err := net.ParseMAC(address)
	must(err)
	must(ns.Netlink.LinkSetHardwareAddr(linkOf(ns, name), mac))
}

var _ = Describe("text of others in the log", func() {
	It("is one line per record, whatever an upstream plugin writes into its Result", func() {
		ns := newPod("cni-text", []fieldcase.Link{podLink}, nil)
		const nasty = `a\n{\"level\":\"ERROR\",\"msg\":\"forged\"}\r\n\u001b[2J\u0000\u2028\"`
		for _, prev := range []string{
			`{"cniVersion":"1.0.0","interfaces":[{"name":"` + nasty + `","mac":"` + nasty + `"}]}`,
			`{"cniVersion":"1.0.0","interfaces":[{"name":"eth0","sandbox":"` + nasty + `"}]}`,
			`{"cniVersion":"1.0.0","interfaces":[{"name":"eth0","mac":"02:00:00:00:00:01","sandbox":"/` + nasty + `"},null],"dns":{"domain":"` + nasty + `"}}`,
			`{"cniVersion":"1.0.0","ips":[{"address":"` + nasty + `"}]}`,
			`{"cniVersion":"` + nasty + `"}`,
		} {
			a := start(environment("ADD", ns.Path), conf("1.0.0", `"logLevel":"debug"`, prev))
			Expect(a.code).To(Equal(0))
			Expect(decoded(a.stdout)).NotTo(BeEmpty())
			Expect(oneLineEach(a.stderr)).To(HaveLen(1), a.stderr)
		}
	})

	It("is one line per record, and one document, whatever the runtime's path holds", func() {
		env := environment("ADD", "/run/netns/a\nb\x1b[2J\"\xff")
		a := start(env, conf("0.3.1", "", calico))
		Expect(a.stdout).To(Equal(calico))
		Expect(oneLineEach(a.stderr)).To(HaveExactElements(HaveField("Reason", ContainSubstring("no such namespace"))))
		Expect(start(env, conf("0.3.1", `"failurePolicy":"fail"`, calico)).cniError().Code).To(BeEquivalentTo(8))
	})
})
