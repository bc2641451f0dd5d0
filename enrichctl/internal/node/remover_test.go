// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/enrichctl/internal/conflist"
)

var _ = Describe("Remover", func() {
	var m *machine
	var r *Remover
	ctx := context.Background()
	BeforeEach(func() {
		m = newMachine()
		r = m.remover()
		DeferCleanup(func() { r.Settle(canceled()) })
	})

	It("takes the entry out of every kind of file, and gives back the bytes", func() {
		for _, name := range []string{"10-a.conflist", "20-b.json", "30-c.conf", "40-d.conflist.cilium_bak"} {
			m.has(name, enriched)
		}
		m.has("50-e.conflist", calico)
		m.has("60-f.bak", enriched)
		out := r.Pass(ctx)
		Expect(out.Problems).To(BeEmpty())
		Expect(out.Done).To(BeTrue())
		Expect(r.Removed()).To(Equal(4))
		for _, name := range []string{"10-a.conflist", "20-b.json", "30-c.conf", "40-d.conflist.cilium_bak", "50-e.conflist"} {
			Expect(read(filepath.Join(m.conf, name))).To(Equal(calico))
		}
		Expect(read(filepath.Join(m.conf, "60-f.bak"))).To(Equal(enriched), "no runtime reads that")
		Expect(r.Returned()).To(Succeed())
	})

	It("has nothing to do where nothing is", func() {
		m.has("10-a.conflist", calico)
		m.has("20-broken.conflist", "{")
		Expect(r.Pass(ctx).Done).To(BeTrue())
		Expect(os.RemoveAll(m.conf)).To(Succeed())
		Expect(r.Pass(ctx).Done).To(BeTrue())
		Expect(r.Removed()).To(BeZero())
	})

	It("is not done while a file that names the plugin cannot be read", func() {
		m.has("10-a.conflist", enriched[:len(enriched)-5])
		out := r.Pass(ctx)
		Expect(out.Done).To(BeFalse())
		Expect(codes(out.Problems)).To(Equal([]string{conflist.CodeInvalidJSON}))
	})

	It("is not done when the entry is the only plugin", func() {
		path := m.has("10-a.conflist", `{"name":"a","cniVersion":"1.0.0","plugins":[{"type":"result-enricher"}]}`)
		before := read(path)
		out := r.Pass(ctx)
		Expect(codes(out.Problems)).To(Equal([]string{conflist.CodeAlone}))
		Expect(out.Done).To(BeFalse())
		Expect(read(path)).To(Equal(before))
	})

	It("tells of a copy that multus has", func() {
		m.has("00-multus.conf", `{"type":"multus","delegates":[`+enriched+`]}`)
		out := r.Pass(ctx)
		Expect(out.Done).To(BeTrue())
		Expect(codes(out.Problems)).To(Equal([]string{CodeMultusStale}))
	})

	It("tells of the plugin where it is no entry of a list", func() {
		path := m.has("10-a.conf", `{"cniVersion":"1.0.0","name":"a","type":"result-enricher"}`)
		before := read(path)
		out := r.Pass(ctx)
		Expect(out.Done).To(BeTrue())
		Expect(codes(out.Problems)).To(Equal([]string{CodeEntryElsewhere}))
		Expect(read(path)).To(Equal(before))
	})

	It("sees that the entry has come back", func() {
		m.has("10-a.conflist", enriched)
		Expect(r.Pass(ctx).Done).To(BeTrue())
		m.has("10-a.conflist", enriched)
		Expect(r.Returned()).To(MatchError(ContainSubstring("an install --watch still runs here")))
	})

	It("backs off when somebody insists", func() {
		for range 5 {
			m.has("10-a.conflist", enriched)
			Expect(r.Pass(ctx).Done).To(BeTrue())
		}
		m.has("10-a.conflist", enriched)
		out := r.Pass(ctx)
		Expect(out.Contended).To(BeTrue())
		Expect(out.Again).To(Equal(pause))
		Expect(codes(out.Problems)).To(Equal([]string{CodeContended}))
	})
})

var _ = Describe("Needed", func() {
	var m *machine
	BeforeEach(func() { m = newMachine() })

	cached := func(dir, name, list string) string {
		GinkgoHelper()
		Expect(os.MkdirAll(filepath.Join(m.cache, dir), 0o755)).To(Succeed())
		return m.write(filepath.Join(m.cache, dir), name, fmt.Sprintf(
			`{"kind":"cniCacheV1","containerId":"container-1","networkName":"pods","ifName":"eth0","config":%q,"netns":"/gone"}`,
			base64.StdEncoding.EncodeToString([]byte(list))))
	}

	It("is nobody where nothing names the plugin", func() {
		m.has("10-a.conflist", calico)
		m.has("20-broken.conflist", "{")
		cached("results", "pods-1-eth0", calico)
		Expect(m.config.Needed()).To(Succeed())
		Expect(os.RemoveAll(m.conf)).To(Succeed())
		Expect(m.config.Needed()).To(Succeed())
	})

	It("is a file of the configuration directory", func() {
		path := m.has("10-a.conflist.cilium_bak", enriched)
		Expect(m.config.Needed()).To(MatchError(ContainSubstring(path)))
	})

	DescribeTable("is a container, dead ones too",
		func(dir string) {
			path := cached(dir, "pods-1-eth0", enriched)
			Expect(m.config.Needed()).To(MatchError(SatisfyAll(
				ContainSubstring(path), ContainSubstring("container container-1"), ContainSubstring(CodeBinaryNeeded),
			)))
		},
		Entry("in the directory itself", ""),
		Entry("in results below it", "results"),
	)

	It("is named up to a number", func() {
		for n := range 9 {
			cached("results", fmt.Sprint("pods-", n), enriched)
		}
		err := m.config.Needed()
		Expect(err).To(MatchError(ContainSubstring("and 4 more")))
		Expect(strings.Count(err.Error(), "container-1")).To(Equal(5))
	})

	It("is unknown when a cache cannot be read", func() {
		m.config.CacheDirs = []string{filepath.Join(m.bin, "calico")}
		Expect(m.config.Needed()).To(MatchError(ContainSubstring(CodeCacheUnreadable)))
	})
})
