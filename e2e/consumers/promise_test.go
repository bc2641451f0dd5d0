// SPDX-License-Identifier: Apache-2.0

package consumers

import (
	"context"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/containernetworking/cni/pkg/types"
)

// verdict is what a consumer's outcomes on two chains come to.
type verdict struct {
	// complaints say what is worse with the second than with the first.
	complaints []string
	// cured: it panics on the first only.
	cured bool
}

// consumer is one of those that read Results, with its code.
type consumer struct {
	name string
	// judge runs both chains on the pod of the first, which must exist, and the consumer on what comes out.
	judge func(ctx context.Context, before, after chain) verdict
	// cures are the situations in which the consumer panics on what the upstream plugin answers, and does not when
	// result-enricher follows.
	cures []string
}

var consumers = []consumer{
	{
		name: "go-cni, as in containerd and Nomad",
		judge: func(ctx context.Context, before, after chain) verdict {
			return compare(
				consume(func() (attached, error) { return before.goCNI(ctx) }),
				consume(func() (attached, error) { return after.goCNI(ctx) }),
				before.worseForContainerd,
			)
		},
		cures: []string{"05_index_eq_len", "18_neg_index", "index-equals-length", "null-entries"},
	},
	{
		name: "network-status, as in multus",
		judge: func(ctx context.Context, before, after chain) verdict {
			first, second := results(ctx, before, after)
			return compare(
				consume(func() (statuses, error) { return networkStatus(first) }),
				consume(func() (statuses, error) { return networkStatus(second) }),
				before.worseForMultus,
			)
		},
		cures: []string{"null-entries", "null-route"},
	},
	{
		name: "vmconf, as in the Firecracker SDK",
		judge: func(ctx context.Context, before, after chain) verdict {
			first, second := results(ctx, before, after)
			return compare(
				consume(func() (vm, error) { return before.vmConf(first) }),
				consume(func() (vm, error) { return before.vmConf(second) }),
				worseForFirecracker,
			)
		},
		cures: []string{"null-entries"},
	},
}

func compare[T any](before, after outcome[T], values func(before, after T) []string) verdict {
	return verdict{
		complaints: worse(before, after, values),
		cured:      before.panicked != nil && after.panicked == nil,
	}
}

// results are what both chains give to a caller of libcni.
func results(ctx context.Context, before, after chain) (first, second types.Result) {
	GinkgoHelper()
	cache := GinkgoT().TempDir()
	first, err := before.add(ctx, cache)
	Expect(err).NotTo(HaveOccurred())
	second, err = after.add(ctx, cache)
	Expect(err).NotTo(HaveOccurred())
	return first, second
}

var _ = Describe("never worse with result-enricher than without", func() {
	all, err := situations()

	It("has the situations", func() {
		Expect(err).NotTo(HaveOccurred())
		Expect(len(all)).To(BeNumerically(">=", 61))
	})

	for _, reader := range consumers {
		Describe(reader.name, func() {
			for _, s := range all {
				title, cured := s.ID, slices.Contains(reader.cures, s.ID)
				if cured {
					title += ", on which it panics without"
				}
				It(title, func(ctx context.Context) {
					makePod(s)
					v := reader.judge(ctx, chain{s, false}, chain{s, true})
					Expect(v.complaints).To(BeEmpty())
					Expect(v.cured).To(Equal(cured), "it panics without result-enricher and not with it")
				})
			}
		})
	}
})

// Edits that a less careful plugin would make, and what each does to whom. They show that the comparison sees it.
var _ = Describe("an edit that makes a consumer worse off", func() {
	DescribeTable("is found", func(ctx context.Context, reader int, from, to, complaint string) {
		before, err := fixture(fixturePath(from))
		Expect(err).NotTo(HaveOccurred())
		after, err := fixture(fixturePath(to))
		Expect(err).NotTo(HaveOccurred())
		makePod(before)
		v := consumers[reader].judge(ctx, chain{before, false}, chain{after, false})
		Expect(v.complaints).To(ContainElement(ContainSubstring(complaint)))
	},
		Entry("containerd loses the address to the host's end", containerd,
			"01_calico330", "04_index_host", "eth0 had [10.1.1.5 via <nil>] and has []"),
		Entry("containerd panics on an index past the end", containerd, "01_calico330", "05_index_eq_len", "panics now"),
		Entry("containerd panics on a negative index", containerd, "01_calico330", "18_neg_index", "panics now"),
		Entry("containerd finds one address more", containerd, "01_calico330", "10_linklocal_added", "the addresses were"),
		Entry("containerd finds another interface", containerd, "01_calico330", "08_foreign_net1_noip", "interface net1 is new"),
		Entry("containerd loses the MAC", containerd, "02_enriched_ok", "07_no_mac", "eth0 had the MAC"),
		Entry("containerd finds a gateway that was not there", containerd,
			"02_enriched_ok", "11_gw_and_default_route", "the routes were"),
		Entry("multus loses the address", multus, "01_calico330", "04_index_host", "entry 0 had [10.1.1.5] and has []"),
		Entry("multus loses the default", multus, "01_calico330", "14_calico_index0_gw", "the default entry is gone"),
		Entry("multus writes one entry more", multus, "01_calico330", "08_foreign_net1_noip", "there were 1 entries and are 2"),
		Entry("multus makes another entry the default", multus,
			"08_foreign_net1_noip", "09_foreign_net1_ip_gw", `entry 0, "eth0", is not the default any more`),
		Entry("multus has no entry left", multus, "01_calico330", "15_no_interfaces", "there were 1 entries and are 0"),
		Entry("multus shows a gateway that is none", multus,
			"02_enriched_ok", "12_default_route_no_gw", "entry 0 had the gateway [] and has [<nil>]"),
		Entry("the VM's entry gets the pod's sandbox", firecracker,
			"30_vm_calico_enricher_before", "32_vm_pseudo_sandbox_fixed", "fails now"),
		Entry("the tap is listed twice", firecracker, "30_vm_calico_enricher_before", "33_vm_dup_tap", "fails now"),
		Entry("the VM's address goes to eth0", firecracker, "30_vm_calico_enricher_before", "34_vm_ip_reindexed", "fails now"),
		Entry("the VM's entry is dropped", firecracker, "30_vm_calico_enricher_before", "35_vm_pseudo_dropped", "fails now"),
		Entry("the VM gets the tap's MAC", firecracker,
			"30_vm_calico_enricher_before", "36_vm_pseudo_mac_fixed", "the VM's configuration was"),
		Entry("the VM gets an address more", firecracker, "30_vm_calico_enricher_before", "37_vm_dual", "fails now"),
		Entry("the VM's address is taken for a duplicate", firecracker,
			"30_vm_calico_enricher_before", "38_vm_deduped", "fails now"),
		Entry("an entry is inserted in front", firecracker,
			"30_vm_calico_enricher_before", "39_vm_inserted_before", "fails now"),
	)
})

// Indices into consumers.
const (
	containerd = iota
	multus
	firecracker
)
