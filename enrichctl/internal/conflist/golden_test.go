// SPDX-License-Identifier: Apache-2.0

package conflist_test

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/containernetworking/cni/libcni"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/enrichctl/internal/conflist"
)

// Each testdata/X.conflist is shaped like what a primary installs, and X.golden is the same file with our entry, which
// was put in by hand.
var _ = Describe("conflists of real primaries", func() {
	names := []string{
		"antrea", "aws-cilium-chained", "aws-vpc-cni", "azure", "calico", "canal", "cilium", "firecracker", "flannel",
		"k3s-flannel", "kindnet", "kube-router", "nomad", "ovn-kubernetes", "podman", "terway",
	}

	It("covers every file of testdata", func() {
		files, err := filepath.Glob("testdata/*.conflist")
		Expect(err).NotTo(HaveOccurred())
		var found []string
		for _, f := range files {
			found = append(found, strings.TrimSuffix(filepath.Base(f), ".conflist"))
		}
		Expect(found).To(Equal(names))
	})

	for _, name := range names {
		Describe(name, func() {
			var before, golden []byte
			BeforeEach(func() {
				before = read(name + ".conflist")
				golden = read(name + ".golden")
			})

			It("gets the entry, byte for byte", func() {
				out, err := conflist.Ensure(before, []byte(ours), supported)
				Expect(err).NotTo(HaveOccurred())
				Expect(string(out)).To(Equal(string(golden)))
			})

			It("gets its original bytes back", func() {
				out, n, err := conflist.Remove(golden)
				Expect(err).NotTo(HaveOccurred())
				Expect(n).To(Equal(1))
				Expect(string(out)).To(Equal(string(before)))
			})

			It("needs no second write", func() {
				out, err := conflist.Ensure(golden, []byte(ours), supported)
				Expect(err).NotTo(HaveOccurred())
				Expect(&out[0]).To(BeIdenticalTo(&golden[0]))
			})

			It("reads as the same list plus ours to libcni", func() {
				was, err := libcni.NetworkConfFromBytes(before)
				Expect(err).NotTo(HaveOccurred())
				is, err := libcni.NetworkConfFromBytes(golden)
				Expect(err).NotTo(HaveOccurred())
				expectSameListPlusOurs(was, is)
				Expect(types(is)).To(HaveLen(len(types(was)) + 1))
			})
		})
	}

	It("keeps the odd line endings that the examples are there for", func() {
		// A checkout that converts line endings would make the other specs of this file worthless.
		Expect(string(read("kube-router.golden"))).To(ContainSubstring("},\r\n      " + ours + "\r\n   ]"))
		Expect(string(read("azure.golden"))).To(ContainSubstring("\n\t\t" + ours + "\n\t]"))
		Expect(string(read("canal.golden"))).To(HaveSuffix("]\n}"))
	})
})

func read(name string) []byte {
	GinkgoHelper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	Expect(err).NotTo(HaveOccurred())
	return data
}

func types(l *libcni.NetworkConfigList) []string {
	var all []string
	for _, p := range l.Plugins {
		all = append(all, p.Network.Type)
	}
	return all
}

// expectSameListPlusOurs holds two lists against each other as libcni sees them.
func expectSameListPlusOurs(was, is *libcni.NetworkConfigList) {
	GinkgoHelper()
	diff := differenceButOurs(was, is)
	Expect(diff).To(BeEmpty())
	Expect(types(is)[1:]).To(ContainElement(conflist.PluginType))
}

// differenceButOurs says what differs between two lists besides the entries of our type, "" when nothing does.
func differenceButOurs(was, is *libcni.NetworkConfigList) string {
	switch {
	case was.Name != is.Name:
		return "name"
	case was.CNIVersion != is.CNIVersion:
		return "cniVersion"
	case was.DisableCheck != is.DisableCheck, was.DisableGC != is.DisableGC, was.LoadOnlyInlinedPlugins != is.LoadOnlyInlinedPlugins:
		return "a flag"
	}
	others := func(l *libcni.NetworkConfigList) []string {
		var all []string
		for _, p := range l.Plugins {
			if p.Network.Type != conflist.PluginType {
				all = append(all, string(p.Bytes))
			}
		}
		return all
	}
	a, b := others(was), others(is)
	if len(a) != len(b) {
		return "the number of plugins"
	}
	for i := range a {
		if a[i] != b[i] {
			return "plugin " + a[i]
		}
	}
	return ""
}
