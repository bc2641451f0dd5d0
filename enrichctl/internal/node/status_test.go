// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/enrichctl/internal/conflist"
)

var _ = Describe("Status", func() {
	var m *machine
	ctx := context.Background()
	BeforeEach(func() {
		m = newMachine()
		Expect(os.WriteFile(m.plugin(), []byte(stub), 0o755)).To(Succeed())
	})
	multus := func(settings string) string {
		return m.has("00-multus.conf", `{"cniVersion":"1.0.0","name":"multus","type":"multus",`+settings+`}`)
	}
	problems := func() []string {
		list := []string{}
		for _, p := range m.config.Status(ctx).Problems {
			list = append(list, p.Code)
			Expect(p.Message).NotTo(BeEmpty())
			Expect(p.Cure).NotTo(BeEmpty())
		}
		return list
	}
	cached := func(netns, list string) {
		m.write(m.cache, "pods-1-eth0", fmt.Sprintf(
			`{"kind":"cniCacheV1","containerId":"container-1","networkName":"pods","ifName":"eth0","config":%q,"netns":%q}`,
			base64.StdEncoding.EncodeToString([]byte(list)), netns))
	}

	It("is ready when the next pod gets a repaired Result", func() {
		path := m.has("10-a.conflist", enriched)
		s := m.config.Status(ctx)
		Expect(s.Problems).To(BeEmpty())
		Expect(s.Ready).To(BeTrue())
		Expect(s.ConfFile).To(Equal(path))
		Expect(s.RuntimeFile).To(Equal(path))
		Expect(s.Entry).To(MatchJSON(`{"type":"result-enricher"}`))
		Expect(s.Plugins).To(Equal([]string{"calico", "portmap", "result-enricher"}))
		Expect(s.Binaries).To(HaveLen(1))
		Expect(s.Binaries[0].Path).To(Equal(m.plugin()))
	})

	It("has a JSON form of fixed shape", func() {
		data, err := json.Marshal(m.config.Status(ctx))
		Expect(err).NotTo(HaveOccurred())
		var keys map[string]any
		Expect(json.Unmarshal(data, &keys)).To(Succeed())
		Expect(keys).To(SatisfyAll(
			HaveLen(6), HaveKeyWithValue("ready", false), HaveKeyWithValue("confFile", ""), HaveKeyWithValue("runtimeFile", ""),
			HaveKeyWithValue("entry", BeNil()), HaveKeyWithValue("binaries", HaveLen(1)),
			HaveKeyWithValue("problems", HaveExactElements(SatisfyAll(
				HaveLen(4), HaveKeyWithValue("code", CodeConflistMissing), HaveKeyWithValue("path", m.conf),
				HaveKeyWithValue("message", Not(BeEmpty())), HaveKeyWithValue("cure", Not(BeEmpty())),
			))),
		))
	})

	DescribeTable("is not ready",
		func(prepare func(), code string) {
			prepare()
			Expect(m.config.Status(ctx).Ready).To(BeFalse())
			Expect(problems()).To(Equal([]string{code}))
		},
		Entry("without the entry", func() { m.has("10-a.conflist", calico) }, CodeEntryMissing),
		Entry("with the entry in front", func() {
			m.write(m.bin, "portmap", "")
			m.has("10-a.conflist", strings.NewReplacer("calico", "result-enricher", `{"type":"result-enricher"}`, `{"type":"calico"}`).Replace(enriched))
		}, CodeEntryInFront),
		Entry("with settings that the plugin rejects", func() {
			m.has("10-a.conflist", strings.Replace(enriched, `-enricher"}`, `-enricher","logLevel":"loud"}`, 1))
		}, CodeEntryRejected),
		Entry("with a version that the plugin does not speak", func() {
			m.has("10-a.conflist", strings.Replace(enriched, "1.0.0", "0.4.0", 1))
		}, conflist.CodeUnsupportedVersion),
		Entry("without the binary", func() {
			m.has("10-a.conflist", enriched)
			Expect(os.Remove(m.plugin())).To(Succeed())
		}, CodeBinaryMissing),
		Entry("with a binary that does not run", func() {
			m.has("10-a.conflist", enriched)
			m.write(m.bin, "result-enricher", "x")
		}, CodeBinaryBroken),
		Entry("when the primary's binary is elsewhere", func() {
			m.has("10-a.conflist", enriched)
			Expect(os.Remove(filepath.Join(m.bin, "calico"))).To(Succeed())
		}, CodePrimaryMissing),
		Entry("when the file is half written", func() { m.has("10-a.conflist", "{") }, conflist.CodeInvalidJSON),
		Entry("when the primary wrote a .conf", func() {
			m.has("10-a.conf", `{"cniVersion":"1.0.0","name":"a","type":"calico"}`)
		}, conflist.CodeNotList),
		Entry("when multus has an old copy", func() {
			m.has("10-a.conflist", enriched)
			multus(`"delegates":[` + calico + `]`)
		}, CodeMultusStale),
		Entry("when multus delegates to another file", func() {
			m.has("10-a.conflist", enriched)
			multus(`"clusterNetwork":"/host/etc/cni/net.d/20-b.conflist"`)
		}, CodeMultusOther),
		Entry("when the runtime loads another file", func() {
			m.has("05-b.conflist", calico)
			m.config.ConfFiles = []string{m.has("10-a.conflist", enriched)}
		}, CodeRuntimeFileOther),
		Entry("when the runtime stumbles over another file", func() {
			m.has("05-b.conflist", "{")
			m.config.ConfFiles = []string{m.has("10-a.conflist", enriched)}
		}, CodeRuntimeFileBroken),
		Entry("when the runtime's directory is empty", func() {
			m.has("10-a.conflist", enriched)
			m.config.RuntimeConfDir = GinkgoT().TempDir()
		}, CodeRuntimeFileMissing),
	)

	DescribeTable("is ready, and says what else there is",
		func(prepare func(), want ...string) {
			prepare()
			Expect(m.config.Status(ctx).Ready).To(BeTrue())
			Expect(problems()).To(Equal(append([]string{}, want...)))
		},
		Entry("multus with a fresh copy", func() {
			m.has("10-a.conflist", enriched)
			multus(`"delegates":[` + enriched + `]`)
		}),
		Entry("multus that reads the conflist", func() {
			m.has("10-a.conflist", enriched)
			multus(`"clusterNetwork":"/host/etc/cni/net.d/10-a.conflist"`)
		}),
		Entry("multus in the runtime's own directory", func() {
			m.has("10-a.conflist", enriched)
			m.config.RuntimeConfDir = GinkgoT().TempDir()
			m.write(m.config.RuntimeConfDir, "00-multus.conf", `{"type":"multus","delegates":[`+enriched+`]}`)
		}),
		Entry("two entries", func() {
			m.has("10-a.conflist", strings.Replace(enriched, `{"type": "portmap"}`, `{"type":"result-enricher"}`, 1))
		}, CodeEntrySeveral),
		Entry("a broken neighbour", func() {
			m.has("10-a.conflist", enriched)
			m.has("20-b.conflist", "{")
			m.has("30-c.conf", calico)
		}, CodeNeighbourBroken, CodeNeighbourBroken),
		Entry("the entry in another file too", func() {
			m.has("10-a.conflist", enriched)
			m.has("20-b.conflist", enriched)
		}, CodeEntryElsewhere),
		Entry("different binaries", func() {
			m.has("10-a.conflist", enriched)
			other := GinkgoT().TempDir()
			Expect(os.WriteFile(filepath.Join(other, "result-enricher"), []byte(stub+"#"), 0o755)).To(Succeed())
			m.config.BinDirs = append(m.config.BinDirs, other)
		}, CodeBinaryDifferent),
		Entry("a running pod from before", func() {
			m.has("10-a.conflist", enriched)
			cached("/proc/self/ns/net", calico)
		}, CodePodsToRestart),
		Entry("a pod from before that is gone", func() {
			m.has("10-a.conflist", enriched)
			cached("/gone", calico)
		}),
		Entry("a pod with the entry", func() {
			m.has("10-a.conflist", enriched)
			cached("/proc/self/ns/net", enriched)
		}),
	)

	It("tells that the binary is still needed once the entry is out", func() {
		m.has("10-a.conflist", calico)
		cached("/gone", enriched)
		Expect(problems()).To(Equal([]string{CodeEntryMissing, CodeBinaryNeeded}))
		Expect(m.config.Status(ctx).Needing).To(Equal(1))
	})

	It("looks at binary and entry only when it is to be cheap", func() {
		m.has("10-a.conflist", enriched)
		multus(`"delegates":[` + calico + `]`)
		m.has("20-b.conflist", "{")
		s := m.config.Probe(ctx)
		Expect(s.Ready).To(BeTrue())
		Expect(s.Problems).To(BeEmpty())
		Expect(s.RuntimeFile).To(BeEmpty())
	})
})
