// SPDX-License-Identifier: Apache-2.0

package conflist_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/enrichctl/internal/conflist"
)

var _ = Describe("Inspect", func() {
	It("gives what a list says", func() {
		entry := "{ \"type\":\"result-enricher\",\n\"gateways\":true }"
		info, err := conflist.Inspect([]byte(`{"cniVersion":"0.4.0","cniVersions":["1.0.0","0.3.1"],"name":"a\u0062c","disableCheck":true,
			"disableGC":"TRUE","loadOnlyInlinedPlugins":"false","plugins":[` + ours + `,{"type":"calico"},{"Type":"port\u006dap"},` + entry + `]}`))
		Expect(err).NotTo(HaveOccurred())
		Expect(info).To(Equal(&conflist.Info{
			Name: "abc", CNIVersion: "1.0.0", CNIVersions: []string{"1.0.0", "0.3.1", "0.4.0"},
			Plugins: []string{"result-enricher", "calico", "portmap", "result-enricher"},
			Own:     []int{0, 3}, Entries: [][]byte{[]byte(ours), []byte(entry)},
			DisableCheck: true, DisableGC: true,
		}))
		Expect(info.Primary()).To(Equal("calico"))
		Expect(info.InFront()).To(BeTrue())
	})

	It("gives the type of a single plugin's configuration", func() {
		info, err := conflist.Inspect([]byte(`{"cniVersion":"0.3.1","name":"multus-cni-network","type":"multus-shim"}`))
		Expect(err).NotTo(HaveOccurred())
		Expect(info).To(Equal(&conflist.Info{
			Name: "multus-cni-network", CNIVersion: "0.3.1", CNIVersions: []string{"0.3.1"}, Plugins: []string{"multus-shim"}, Single: true,
		}))
		Expect(info.InFront()).To(BeFalse())
	})

	It("minds no version, for libcni reads a list without one", func() {
		info, err := conflist.Inspect([]byte(`{"name":"n","plugins":[{"type":"a"}]}`))
		Expect(err).NotTo(HaveOccurred())
		Expect(info).To(Equal(&conflist.Info{Name: "n", Plugins: []string{"a"}}))
	})

	It("minds no key that is there twice and that nobody here reads", func() {
		info, err := conflist.Inspect([]byte(list(`[{"type":"a","x":1,"x":1}]`)))
		Expect(err).NotTo(HaveOccurred())
		Expect(info.Plugins).To(Equal([]string{"a"}))
	})

	DescribeTable("knows an entry in front of the primary",
		func(plugins, primary string, inFront bool) {
			info, err := conflist.Inspect([]byte(list(plugins)))
			Expect(err).NotTo(HaveOccurred())
			Expect(info.Primary()).To(Equal(primary))
			Expect(info.InFront()).To(Equal(inFront))
		},
		Entry("behind", `[{"type":"a"},`+ours+`]`, "a", false),
		Entry("in front", `[`+ours+`,{"type":"a"}]`, "a", true),
		Entry("between lo and the primary", `[{"type":"loopback"},`+ours+`,{"type":"a"}]`, "loopback", true),
		Entry("behind lo alone", `[{"type":"loopback"},`+ours+`]`, "loopback", false),
		Entry("alone", `[`+ours+`]`, "", true),
		Entry("not there", `[{"type":"a"}]`, "a", false),
	)

	DescribeTable("refuses",
		func(data, wantCode string) {
			info, err := conflist.Inspect([]byte(data))
			Expect(info).To(BeNil())
			Expect(code(err)).To(Equal(wantCode))
		},
		Entry("an empty file", "", conflist.CodeEmpty),
		Entry("half a file", "{", conflist.CodeInvalidJSON),
		Entry("an object that configures nothing", `{}`, conflist.CodeNoPlugins),
		Entry("no plugins", list(`[]`), conflist.CodeNoPlugins),
		Entry("what libcni rejects", `{"plugins":[{"type":"a"}]}`, conflist.CodeUnreadable),
		Entry("two types", list(`[{"type":"a","Type":"b"}]`), conflist.CodeAmbiguousKey),
		Entry("a single plugin with two types", `{"type":"a","Type":"b"}`, conflist.CodeAmbiguousKey),
		Entry("a single plugin that libcni rejects", `{"type":"a","ipam":"b"}`, conflist.CodeUnreadable),
		Entry("a single plugin with a number out of range", `{"type":"a","x":1e999}`, conflist.CodeUnreadable),
		Entry("a single plugin whose type is empty", `{"type":""}`, conflist.CodeUnreadable),
	)
})

var _ = DescribeTable("IsMultus",
	func(pluginType string, want bool) { Expect(conflist.IsMultus(pluginType)).To(Equal(want)) },
	Entry(nil, "multus", true),
	Entry(nil, "multus-shim", true),
	Entry(nil, "multus-cni", true),
	Entry(nil, "genie", true),
	Entry(nil, "danm", true),
	Entry(nil, "calico", false),
	Entry(nil, "multusx", false),
	Entry(nil, "Multus", false),
	Entry(nil, "", false),
)
