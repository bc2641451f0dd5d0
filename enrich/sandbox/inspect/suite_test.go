// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"os"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

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

var _ = host.Watch()

// newPod makes a namespace with a veth eth0 in it.
func newPod(addresses ...string) *podns.NS {
	GinkgoHelper()
	ns, err := podns.New("/run/netns/pod")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(ns.Close)
	Expect(ns.AddPair("eth0", "peer0", 1450, addresses...)).To(Succeed())
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
