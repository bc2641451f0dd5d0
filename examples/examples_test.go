// SPDX-License-Identifier: Apache-2.0

// Package examples_test loads every example, which is what users copy, as its
// consumer does.
package examples_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/containernetworking/cni/libcni"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/plugin"
)

func TestExamples(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "examples")
}

// chain reads the plugin types and our entry of a list.
func chain(list *libcni.NetworkConfigList) (types []string, entry []byte) {
	GinkgoHelper()
	for _, p := range list.Plugins {
		types = append(types, p.Network.Type)
		if p.Network.Type == plugin.Name {
			Expect(entry).To(BeNil(), "one entry")
			entry = p.Bytes
		}
	}
	return types, entry
}

var _ = DescribeTable("a conflist",
	func(file, network string, types []string, gateways bool) {
		list, err := libcni.ConfListFromFile(filepath.Join("conflists", file))
		Expect(err).NotTo(HaveOccurred())
		Expect(list.Name).To(Equal(network))
		loaded, entry := chain(list)
		Expect(loaded).To(Equal(types))
		config, err := plugin.ParseConfig(entry)
		Expect(err).NotTo(HaveOccurred())
		Expect(config.Gateways).To(Equal(gateways))
		Expect(config.FailurePolicy).To(Equal(plugin.PolicyIgnore))
	},
	Entry("10-calico.conflist", "10-calico.conflist", "k8s-pod-network", []string{"calico", "portmap", "bandwidth", "result-enricher"}, false),
	Entry("10-flannel.conflist", "10-flannel.conflist", "cbr0", []string{"flannel", "portmap", "result-enricher"}, false),
	Entry("nomad.conflist", "nomad.conflist", "calico", []string{"calico", "portmap", "result-enricher"}, true),
	Entry("firecracker.conflist", "firecracker.conflist", "fcnet", []string{"ptp", "result-enricher", "tc-redirect-tap"}, true),
)

var _ = Describe("multus", func() {
	load := func(file string, into any) {
		GinkgoHelper()
		raw, err := os.ReadFile(filepath.Join("conflists", file))
		Expect(err).NotTo(HaveOccurred())
		conf, err := libcni.NetworkPluginConfFromBytes(raw)
		Expect(err).NotTo(HaveOccurred())
		Expect(conf.Network.Type).To(Equal("multus"))
		Expect(json.Unmarshal(conf.Bytes, into)).To(Succeed())
	}

	It("reads the cluster network from the file that has the entry", func() {
		var conf struct{ ClusterNetwork string }
		load("00-multus.conf", &conf)
		Expect(filepath.Base(conf.ClusterNetwork)).To(Equal("10-calico.conflist"))
	})

	It("has the entry in an embedded delegate", func() {
		var conf struct{ Delegates []json.RawMessage }
		load("00-multus-delegates.conf", &conf)
		Expect(conf.Delegates).To(HaveLen(1))
		list, err := libcni.ConfListFromBytes(conf.Delegates[0])
		Expect(err).NotTo(HaveOccurred())
		types, _ := chain(list)
		Expect(types).To(Equal([]string{"calico", "portmap", "result-enricher"}))
	})
})

var _ = It("tests every file that is here", func() {
	files, err := os.ReadDir("conflists")
	Expect(err).NotTo(HaveOccurred())
	var names []string
	for _, f := range files {
		names = append(names, f.Name())
	}
	slices.Sort(names)
	Expect(names).To(Equal([]string{
		"00-multus-delegates.conf", "00-multus.conf", "10-calico.conflist", "10-flannel.conflist", "firecracker.conflist", "nomad.conflist",
	}))
})
