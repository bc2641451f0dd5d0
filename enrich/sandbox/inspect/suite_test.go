// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vishvananda/netlink"

	"github.com/result-enricher/result-enricher/internal/host"
	"github.com/result-enricher/result-enricher/internal/isolate"
	"github.com/result-enricher/result-enricher/internal/podns"
)

func TestMain(m *testing.M) {
	os.Exit(isolate.TestMain(func(string) error { return nil }, func(string) int { return m.Run() }))
}

func TestInspect(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "inspect")
}

var survey host.Survey

var _ = BeforeSuite(func() {
	var err error
	survey, err = host.Begin()
	Expect(err).NotTo(HaveOccurred())
})

var _ = AfterSuite(func() {
	Expect(survey.Leftovers()).To(BeEmpty())
})

// newPod makes a namespace with a veth eth0 in it.
func newPod(addresses ...string) *podns.NS {
	GinkgoHelper()
	ns, err := podns.New(filepath.Join("/run/netns", "pod"))
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(ns.Close)
	veth := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "eth0", MTU: 1450}, PeerName: "peer0"}
	Expect(ns.Netlink.LinkAdd(veth)).To(Succeed())
	Expect(ns.Netlink.LinkSetUp(veth)).To(Succeed())
	peer, err := ns.Netlink.LinkByName("peer0")
	Expect(err).NotTo(HaveOccurred())
	Expect(ns.Netlink.LinkSetUp(peer)).To(Succeed())
	for _, a := range addresses {
		parsed, err := netlink.ParseAddr(a)
		Expect(err).NotTo(HaveOccurred())
		Expect(ns.Netlink.AddrAdd(veth, parsed)).To(Succeed())
	}
	return ns
}

func openPod(path string) *Inspector {
	GinkgoHelper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	DeferCleanup(cancel)
	i, err := Open(ctx, path)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(i.Close)
	return i
}
