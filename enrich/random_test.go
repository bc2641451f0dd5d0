// SPDX-License-Identifier: Apache-2.0

package enrich_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/enrich"
	"github.com/result-enricher/result-enricher/internal/fieldcase"
)

var versions = []string{"0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"}

// pick is a random element.
func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// randomResult makes Results whose parts collide often: few names, few
// sandboxes, few addresses, indices around the ends.
func randomResult(r *rand.Rand, version string) string {
	result := map[string]any{"cniVersion": version}
	if r.IntN(20) == 0 {
		delete(result, "cniVersion")
	}
	var interfaces []any
	for range r.IntN(5) {
		entry := map[string]any{"name": pick(r, "eth0", "cali0", "net1", "tap0", "")}
		set := func(key string, value any) {
			if r.IntN(2) == 0 {
				entry[key] = value
			}
		}
		set("mac", pick(r, podMAC, otherMAC, "3A:DD:BC:AD:13:95", pick(r, "", "254", podMAC)))
		set("mtu", pick(r, 0, 1450, 1500, -1))
		set("sandbox", pick(r, netns, netns, containerID, "/run/netns/cni-5f71", "/host"+netns, "vm-1"))
		set("pciID", "0000:08:06.3")
		interfaces = append(interfaces, pick[any](r, entry, entry, entry, entry, nil))
	}
	var ips []any
	for range r.IntN(5) {
		ip := map[string]any{"version": "4", "address": pick(r, "192.0.2.10/32", "192.0.2.10/24", "2001:db8::10/64", "198.51.100.7/24", "0.0.0.0/0", "::ffff:192.0.2.10/128")}
		if r.IntN(3) > 0 {
			ip["interface"] = r.IntN(8) - 2
		}
		if r.IntN(4) == 0 {
			ip["gateway"] = pick(r, "192.0.2.1", "0.0.0.0", "fe80::1")
		}
		ips = append(ips, pick[any](r, ip, ip, ip, ip, nil))
	}
	result["interfaces"], result["ips"] = interfaces, ips
	if r.IntN(3) == 0 {
		result["routes"] = []any{map[string]any{"dst": "0.0.0.0/0", "gw": "192.0.2.1"}, pick[any](r, nil, map[string]any{"dst": "::/0"})}
	}
	if r.IntN(3) == 0 {
		result["dns"] = map[string]any{"nameservers": []string{"192.0.2.53"}, "domain": "<&>"}
	}
	raw, err := json.Marshal(result)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func randomObservation(r *rand.Rand) enrich.Observation {
	switch r.IntN(12) {
	case 0:
		return enrich.Observation{Err: errors.New("gone")}
	case 1:
		return enrich.Observation{}
	}
	obs := enrich.Observation{
		Link: &enrich.Link{
			MAC: pick(r, podMAC, podMAC, podMAC, podMAC, ""), MTU: pick(r, 1450, 0),
			ParentDevice: r.IntN(4) == 0, AddressesComplete: r.IntN(8) > 0,
		},
		MACs: map[string]string{"tap0": otherMAC, "net1": pick(r, otherMAC, podMAC)},
	}
	for _, a := range []string{"192.0.2.10", "2001:db8::10", "198.51.100.7"} {
		if r.IntN(3) > 0 {
			obs.Link.Addresses = append(obs.Link.Addresses, netip.MustParseAddr(a))
		}
	}
	for range r.IntN(4) {
		obs.Link.DefaultRoutes = append(obs.Link.DefaultRoutes, pick(r, via("169.254.1.1", r.IntN(3)), via("fe80::1", r.IntN(3)), enrich.DefaultRoute{}))
	}
	if r.IntN(2) == 0 {
		obs.OwnSandboxes = []string{"/run/netns/cni-5f71"}
	}
	return obs
}

// seedFiles are the Results of the cases and of the consumers' fixtures.
func seedFiles() ([]string, error) {
	cases, err := fieldcase.Load("testdata/field-cases")
	if err != nil {
		return nil, err
	}
	var seeds []string
	for _, c := range cases {
		c = c.In(netns)
		seeds = append(seeds, string(c.PrevResult), string(c.Want))
	}
	fixtures, err := filepath.Glob("testdata/consumer-fixtures/*.json")
	if err != nil {
		return nil, err
	}
	for _, file := range fixtures {
		raw, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		seeds = append(seeds, string(raw))
	}
	return seeds, nil
}

var _ = Describe("R0", func() {
	It("holds for random Results, sandboxes and versions", func() {
		seed := GinkgoRandomSeed()
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		repairs := 0
		for i := range 10_000 {
			version := pick(r, versions...)
			call := callOf(pick(r, version, version, pick(r, versions...)))
			prev, obs, opts := randomResult(r, version), randomObservation(r), enrich.Options{Gateways: r.IntN(2) == 0}
			Expect(holdsR0(prev, call, obs, opts)).To(Succeed(), "seed %d, round %d: %s with %+v", seed, i, prev, obs)
			if out, err := rules(prev, call, obs, opts); err == nil {
				repairs += len(out.Repairs)
			}
		}
		Expect(repairs).To(BeNumerically(">", 5_000), "the inputs exercise the rules")
	})

	It("holds for every case and every consumer's fixture in many sandboxes", func() {
		seeds, err := seedFiles()
		Expect(err).NotTo(HaveOccurred())
		Expect(len(seeds)).To(BeNumerically(">=", 46+37))
		r := rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 2))
		for _, prev := range seeds {
			for range 100 {
				call := callOf(pick(r, versions...))
				call.Netns = pick(r, netns, "/var/run/netns/cni-1")
				call.ContainerID = pick(r, containerID, "vm-1")
				Expect(holdsR0(prev, call, randomObservation(r), enrich.Options{Gateways: true})).To(Succeed(), prev)
			}
		}
	})
})

// FuzzApply looks for Results that break R0, in sandboxes chosen by a seed.
func FuzzApply(f *testing.F) {
	seeds, err := seedFiles()
	if err != nil {
		f.Fatal(err)
	}
	for i, prev := range seeds {
		f.Add(prev, uint64(i), uint8(i))
	}
	f.Fuzz(func(t *testing.T, prev string, seed uint64, choice uint8) {
		r := rand.New(rand.NewPCG(seed, 3))
		call := callOf(versions[int(choice)%len(versions)])
		if err := holdsR0(prev, call, randomObservation(r), enrich.Options{Gateways: choice&0x80 != 0}); err != nil {
			t.Errorf("%v\nprevResult %s", err, prev)
		}
	})
}
