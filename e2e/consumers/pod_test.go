// SPDX-License-Identifier: Apache-2.0

package consumers

import (
	"fmt"
	"net"
	"os"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"github.com/result-enricher/result-enricher/internal/fieldcase"
	"github.com/result-enricher/result-enricher/internal/podns"
)

// makePod makes the namespace of a situation with its links, for as long as the spec lasts.
func makePod(s situation) {
	GinkgoHelper()
	pod, err := podns.New(s.netns)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(pod.Close)
	hostNames := map[string]string{}
	for _, link := range s.Host {
		hostNames[link.Peer] = link.Name
	}
	for i, link := range s.Sandbox {
		hostName, named := hostNames[link.Name]
		if !named {
			hostName = fmt.Sprintf("host%d", i)
		}
		makeLink(pod, link, hostName)
	}
}

// makeLink makes a veth across both namespaces, or a tap in the pod's. Where this user has no /dev/net/tun a veth takes
// the tap's place: nobody here looks at more than its name, MAC and MTU.
func makeLink(pod *podns.NS, l fieldcase.Link, hostName string) {
	GinkgoHelper()
	Expect(l.Kind).To(BeElementOf("veth", "tap"))
	if l.Kind != "tap" || !makeTap(pod, l.Name) {
		makeVeth(pod, l.Name, hostName)
	}
	link, err := pod.Netlink.LinkByName(l.Name)
	Expect(err).NotTo(HaveOccurred())
	mac, err := net.ParseMAC(l.MAC)
	Expect(err).NotTo(HaveOccurred())
	Expect(pod.Netlink.LinkSetHardwareAddr(link, mac)).To(Succeed())
	Expect(pod.Netlink.LinkSetMTU(link, l.MTU)).To(Succeed())
	Expect(pod.Netlink.LinkSetUp(link)).To(Succeed())
	for _, prefix := range l.Addresses {
		addr, err := netlink.ParseAddr(prefix.String())
		Expect(err).NotTo(HaveOccurred())
		Expect(pod.Netlink.AddrAdd(link, addr)).To(Succeed())
	}
}

func makeVeth(pod *podns.NS, name, hostName string) {
	GinkgoHelper()
	veth := netlink.NewVeth(netlink.LinkAttrs{Name: name})
	veth.PeerName, veth.PeerNamespace = hostName, netlink.NsPid(os.Getpid())
	Expect(pod.Netlink.LinkAdd(veth)).To(Succeed())
	peer, err := netlink.LinkByName(hostName)
	Expect(err).NotTo(HaveOccurred())
	// The kernel takes its time to remove a namespace's links, and the name is wanted by the next spec.
	DeferCleanup(netlink.LinkDel, peer)
	Expect(netlink.LinkSetUp(peer)).To(Succeed())
}

// makeTap tells whether it could. A tap is made through a device file, which knows the thread's namespace only.
func makeTap(pod *podns.NS, name string) bool {
	GinkgoHelper()
	device, err := os.OpenFile("/dev/net/tun", os.O_RDWR, 0)
	if err != nil {
		GinkgoWriter.Printf("a veth stands in for the tap: %v\n", err)
		return false
	}
	Expect(device.Close()).To(Succeed())
	tap := &netlink.Tuntap{LinkAttrs: netlink.LinkAttrs{Name: name}, Mode: netlink.TUNTAP_MODE_TAP}
	Expect(netlink.LinkAdd(tap)).To(Succeed())
	ns, err := netns.GetFromPath(pod.Path)
	Expect(err).NotTo(HaveOccurred())
	defer ns.Close()
	Expect(netlink.LinkSetNsFd(tap, int(ns))).To(Succeed())
	return true
}
