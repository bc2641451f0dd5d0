// SPDX-License-Identifier: Apache-2.0

package conflist_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/enrichctl/internal/conflist"
)

var _ = Describe("InspectMultus", func() {
	embedded := func(delegates string) string {
		return `{"cniVersion":"0.3.1","name":"multus-cni-network","type":"multus","kubeconfig":"/k","delegates":` + delegates + `}`
	}

	DescribeTable("reads",
		func(data string, want conflist.MultusInfo) {
			info, err := conflist.InspectMultus([]byte(data))
			Expect(err).NotTo(HaveOccurred())
			Expect(*info).To(Equal(want))
		},
		Entry("a reference to the file", `{"type":"multus-shim","clusterNetwork":"/host/etc/cni/net.d/10-calico.conflist"}`,
			conflist.MultusInfo{ClusterNetwork: "/host/etc/cni/net.d/10-calico.conflist"}),
		Entry("a copy without our entry", embedded(`[{"name":"k8s-pod-network","plugins":[{"type":"calico"},{"type":"portmap"}]}]`),
			conflist.MultusInfo{Embedded: []conflist.Delegate{{Name: "k8s-pod-network", Plugins: []string{"calico", "portmap"}}}}),
		Entry("a copy with our entry", embedded(`[{"name":"k8s-pod-network","plugins":[{"type":"calico"},`+ours+`]}]`),
			conflist.MultusInfo{Embedded: []conflist.Delegate{{Name: "k8s-pod-network", Plugins: []string{"calico", "result-enricher"}, HasOwn: true}}}),
		Entry("a copy with our entry in front, where it fails", embedded(`[{"name":"n","plugins":[`+ours+`,{"type":"calico"}]}]`),
			conflist.MultusInfo{Embedded: []conflist.Delegate{{Name: "n", Plugins: []string{"result-enricher", "calico"}}}}),
		Entry("a copy of a single plugin's configuration", embedded(`[{"name":"n","type":"bridge"}]`),
			conflist.MultusInfo{Embedded: []conflist.Delegate{{Name: "n", Plugins: []string{"bridge"}}}}),
		Entry("several", embedded(`[{"name":"n","type":"bridge"},{"plugins":[{"type":"a"},`+ours+`]}]`),
			conflist.MultusInfo{Embedded: []conflist.Delegate{{Name: "n", Plugins: []string{"bridge"}}, {Plugins: []string{"a", "result-enricher"}, HasOwn: true}}}),
		Entry("both", `{"type":"multus","clusterNetwork":"k8s-pod-network","delegates":[{"name":"old","plugins":[{"type":"a"}]}]}`,
			conflist.MultusInfo{ClusterNetwork: "k8s-pod-network", Embedded: []conflist.Delegate{{Name: "old", Plugins: []string{"a"}}}}),
		Entry("a copy of itself", embedded(`[{"name":"multus-cni-network","type":"multus","delegates":[{"plugins":[{"type":"a"}]}]}]`),
			conflist.MultusInfo{Embedded: []conflist.Delegate{{Name: "multus-cni-network", Plugins: []string{"multus"}}}}),
		Entry("keys in any case, escapes", `{"TYPE":"mult\u0075s","Delegates":[{"Name":"n","Plugins":[{"Type":"a"},{"Type":"result\u002denricher"}]}]}`,
			conflist.MultusInfo{Embedded: []conflist.Delegate{{Name: "n", Plugins: []string{"a", "result-enricher"}, HasOwn: true}}}),
		Entry("multus in a list", `{"name":"multus","plugins":[{"type":"multus","delegates":[{"name":"n","plugins":[{"type":"a"}]}]},{"type":"b"}]}`,
			conflist.MultusInfo{Embedded: []conflist.Delegate{{Name: "n", Plugins: []string{"a"}}}}),
		Entry("neither", `{"type":"multus"}`, conflist.MultusInfo{}),
		Entry("nonsense", `{"type":"multus","clusterNetwork":7,"delegates":[null,[],{"name":1,"plugins":[null,{"type":2}]},{"plugins":{}}]}`,
			conflist.MultusInfo{Embedded: []conflist.Delegate{{}, {}, {Plugins: []string{"", ""}}, {}}}),
	)

	DescribeTable("refuses",
		func(data, wantCode string) {
			info, err := conflist.InspectMultus([]byte(data))
			Expect(info).To(BeNil())
			Expect(code(err)).To(Equal(wantCode))
		},
		Entry("another plugin", `{"type":"calico"}`, conflist.CodeNotMultus),
		Entry("another list", list(`[{"type":"calico"},{"type":"portmap"}]`), conflist.CodeNotMultus),
		Entry("another document", `[{"type":"multus"}]`, conflist.CodeNotMultus),
		Entry("an empty file", ``, conflist.CodeEmpty),
		Entry("half a file", `{"type":"multus"`, conflist.CodeInvalidJSON),
		Entry("a byte order mark", "\xef\xbb\xbf"+`{"type":"multus"}`, conflist.CodeBOM),
	)
})
