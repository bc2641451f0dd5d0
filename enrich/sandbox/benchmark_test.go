// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"fmt"
	"testing"

	"github.com/vishvananda/netlink"

	"github.com/result-enricher/result-enricher/internal/podns"
)

// benchmarkPod is a pod whose eth0 has as many addresses.
func benchmarkPod(b *testing.B, addresses int) *podns.NS {
	b.Helper()
	ns, err := podns.New("/run/netns/benchmark")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := ns.Close(); err != nil {
			b.Error(err)
		}
	})
	// Not up, so that no address comes of itself.
	eth0 := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "eth0"}, PeerName: "peer0"}
	if err := ns.Netlink.LinkAdd(eth0); err != nil {
		b.Fatal(err)
	}
	for i := range addresses {
		a, err := netlink.ParseAddr(fmt.Sprintf("10.%d.%d.%d/32", i>>16, i>>8&255, i&255))
		if err != nil {
			b.Fatal(err)
		}
		if err := ns.Netlink.AddrAdd(eth0, a); err != nil {
			b.Fatal(err)
		}
	}
	return ns
}

// BenchmarkReader is the kernel's part of an ADD, in a real namespace.
func BenchmarkReader(b *testing.B) {
	b.Run("open", func(b *testing.B) {
		ns := benchmarkPod(b, 1)
		b.ReportAllocs()
		for b.Loop() {
			s, err := Open(context.Background(), ns.Path)
			if err != nil {
				b.Fatal(err)
			}
			s.Close()
		}
	})
	for _, addresses := range []int{1, 100, 10_000} {
		b.Run(fmt.Sprintf("observe/addresses=%d", addresses), func(b *testing.B) {
			s, err := Open(context.Background(), benchmarkPod(b, addresses).Path)
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(s.Close)
			b.ReportAllocs()
			for b.Loop() {
				if obs := s.Observe(Request{IfName: "eth0"}); obs.Err != nil || len(obs.Link.Addresses) != addresses {
					b.Fatalf("%+v", obs)
				}
			}
		})
	}
}
