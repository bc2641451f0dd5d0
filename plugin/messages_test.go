// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"

	"github.com/result-enricher/result-enricher/internal/podns"
)

// netlinkSocket is the one that an ADD opens.
var netlinkSocket = fmt.Sprintf("AF %d type %#x protocol %d", unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)

// Every message costs a pod's start. These specs are to be changed with intent.
var _ = Describe("the messages of a command", func() {
	of := func(ns *podns.NS) string { return getAddresses(unix.AF_UNSPEC, linkOf(ns, "eth0").Attrs().Index) }
	v4, v6 := getAddresses(unix.AF_INET, 0), getAddresses(unix.AF_INET6, 0)
	link, second := getLink("eth0"), getLink("net1")

	DescribeTable("are these and no others",
		func(command, version, keys string, prev func(ns *podns.NS) string, alter func(ns *podns.NS), after string, want func(ns *podns.NS) []string) {
			ns := routedPod()
			if alter != nil {
				alter(ns)
			}
			asked := want(ns)
			s := supervise(environment(command, ns.Path), conf(version, keys, prev(ns)), nil)
			a := s.wait()
			Expect(a.code).To(Equal(0), a.stdout)
			Expect(a.stderr).To(ContainSubstring(after))
			Expect(s.requests()).To(Equal(asked))
			Expect(s.sockets).To(Equal([]string{netlinkSocket}))
			Expect(s.receives()).To(Equal(datagrams(ns, s.asked)), "one for each datagram of the answers")
		},
		Entry("an ADD that repairs Calico's Result", "ADD", "0.3.1", "", just(calico), nil, `"rule":"R6"`,
			func(ns *podns.NS) []string { return []string{link, of(ns)} }),
		Entry("an ADD with nothing to repair", "ADD", "0.3.1", "",
			func(ns *podns.NS) string { return twoLinks(ns.Path, podLink.MAC, secondLink.MAC) }, nil, "",
			func(ns *podns.NS) []string { return []string{link, of(ns)} }),
		Entry("an ADD with gateways", "ADD", "0.3.1", wantsGateways, just(calico), nil, `"rule":"R8"`,
			func(ns *podns.NS) []string {
				return []string{link, of(ns), getRoutes(unix.AF_INET), getRoutes(unix.AF_INET6)}
			}),
		Entry("an ADD with another link of the sandbox", "ADD", "0.3.1", "", func(ns *podns.NS) string { return twoLinks(ns.Path) }, nil, `"rule":"R5"`,
			func(ns *podns.NS) []string { return []string{link, of(ns), second} }),
		Entry("an ADD with other links of the sandbox, one twice and one missing", "ADD", "1.0.0", "", func(ns *podns.NS) string {
			own := `,"sandbox":"` + ns.Path + `"}`
			return `{"cniVersion":"1.0.0","interfaces":[{"name":"eth0"` + own + `,{"name":"net1"` + own + `,{"name":"gone"` + own + `,{"name":"net1"` + own + `,{"name":"net3","mac":"` + otherMAC + `"` + own + `]}`
		}, nil, `"rule":"R5"`,
			func(ns *podns.NS) []string { return []string{link, of(ns), second, getLink("gone")} }),
		Entry("an ADD whose link has no address: is it still there?", "ADD", "0.3.1", wantsGateways, just(calico),
			func(ns *podns.NS) {
				list, err := ns.Netlink.AddrList(linkOf(ns, "eth0"), unix.AF_UNSPEC)
				must(err)
				for _, a := range list {
					must(ns.Netlink.AddrDel(linkOf(ns, "eth0"), &a))
				}
			}, `"rule":"R6"`,
			func(ns *podns.NS) []string {
				return []string{link, of(ns), getRoutes(unix.AF_INET), getRoutes(unix.AF_INET6), link}
			}),
		Entry("an ADD whose link has so many names that the answer does not fit", "ADD", "0.3.1", "", just(calico),
			func(ns *podns.NS) {
				for i := range 300 {
					must(ns.Netlink.LinkAddAltName(linkOf(ns, "eth0"), fmt.Sprintf("%0120d", i)))
				}
			}, `"rule":"R6"`,
			func(ns *podns.NS) []string { return []string{link, link, of(ns)} }),
		Entry("an ADD whose addresses take several datagrams: those of all links, by family and twice", "ADD", "0.3.1", "", just(calico),
			func(ns *podns.NS) {
				for i := range 1_000 {
					addAddress(ns, linkOf(ns, "eth0"), fmt.Sprintf("10.0.%d.%d/32", i>>8, i&255))
				}
			}, `"rule":"R6"`,
			func(ns *podns.NS) []string { return []string{link, of(ns), v4, v6, v4, v6} }),
		Entry("an ADD without a pod link", "ADD", "0.3.1", wantsGateways, just(calico),
			func(ns *podns.NS) { must(ns.Netlink.LinkDel(linkOf(ns, "eth0"))) }, "no link of that name",
			func(*podns.NS) []string { return []string{link} }),
		Entry("an ADD in a format without interfaces", "ADD", "0.2.0", "", just(`{"ip4":{"ip":"192.0.2.10/32"}}`), nil, "",
			func(*podns.NS) []string { return []string{} }),
		Entry("CHECK", "CHECK", "0.4.0", "", func(ns *podns.NS) string { return twoLinks(ns.Path, podLink.MAC) }, nil, "",
			func(*podns.NS) []string { return []string{link} }),
	)

	It("are none without a namespace, and no socket is opened", func() {
		s := supervise(environment("ADD", "/run/netns/gone"), conf("0.3.1", wantsGateways, calico), nil)
		Expect(s.wait().kept(calico, "")).To(Equal(handedOn))
		Expect(s.requests()).To(BeEmpty())
		Expect(s.sockets).To(BeEmpty())
	})

	DescribeTable("are none where nothing is to be looked at, and no socket is opened",
		func(command, prev string) {
			ns := routedPod()
			s := supervise(environment(command, ns.Path), conf("1.1.0", wantsGateways, prev), nil)
			a := s.wait()
			Expect(a.code).To(Equal(0))
			Expect(a.stderr).To(BeEmpty())
			Expect(s.requests()).To(BeEmpty())
			Expect(s.sockets).To(BeEmpty())
		},
		Entry("DEL", "DEL", calico), Entry("GC", "GC", ""), Entry("STATUS", "STATUS", ""), Entry("VERSION", "VERSION", ""),
		Entry("CHECK of a Result without the pod's entry", "CHECK", `{"cniVersion":"1.1.0","interfaces":[{"name":"cali0"}]}`),
	)
})

func just(prev string) func(*podns.NS) string { return func(*podns.NS) string { return prev } }
