// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"

	"github.com/result-enricher/result-enricher/enrichctl/internal/conflist"
)

var _ = Describe("Installer", func() {
	var m *machine
	var in *Installer
	ctx := context.Background()

	BeforeEach(func() {
		m = newMachine()
		in = m.installer()
	})
	pass := func() Outcome {
		out := in.Pass(ctx)
		in.Settle(canceled())
		return out
	}

	It("puts binary and entry in place, and then writes nothing", func() {
		path := m.has("10-calico.conflist", calico)
		Expect(pass()).To(Equal(Outcome{Done: true, Present: true, Inserted: 1, Restored: 1}))
		Expect(read(path)).To(Equal(enriched))
		Expect(read(m.plugin())).To(Equal(stub))
		Expect(names(m.conf)).To(HaveLen(1))
		Expect(pass()).To(Equal(Outcome{Done: true, Present: true}))
	})

	It("has the binary ready while it waits for the primary, and creates no conflist", func() {
		out := pass()
		Expect(out.Done).To(BeFalse())
		Expect(codes(out.Problems)).To(Equal([]string{CodeConflistMissing}))
		Expect(m.plugin()).To(BeAnExistingFile())
		Expect(names(m.conf)).To(BeEmpty())
	})

	It("changes nothing at all when it is to be done at once and cannot be", func() {
		in.Once = true
		Expect(codes(pass().Problems)).To(Equal([]string{CodeConflistMissing}))
		path := m.has("10-calico.conflist", calico[:50])
		Expect(codes(pass().Problems)).To(Equal([]string{conflist.CodeInvalidJSON}))
		Expect(read(path)).To(Equal(calico[:50]))
		Expect(m.plugin()).NotTo(BeAnExistingFile())
	})

	DescribeTable("leaves a file alone, saying why",
		func(name, content, code string) {
			path := m.has(name, content)
			m.has("20-other.conflist", calico)
			out := pass()
			Expect(codes(out.Problems)).To(Equal([]string{code}))
			Expect(out.Done).To(BeFalse())
			Expect(read(path)).To(Equal(content))
			Expect(read(filepath.Join(m.conf, "20-other.conflist"))).To(Equal(calico), "the next file is never taken")
		},
		Entry("that is empty", "10-a.conflist", "", conflist.CodeEmpty),
		Entry("that is half written", "10-a.conflist", calico[:60], conflist.CodeInvalidJSON),
		Entry("that begins with a BOM", "10-a.conflist", "\ufeff"+calico, conflist.CodeBOM),
		Entry("that is a .conf", "10-a.conf", `{"cniVersion":"1.0.0","name":"a","type":"calico"}`, conflist.CodeNotList),
		Entry("whose version the plugin does not speak", "10-a.conflist", strings.Replace(calico, "1.0.0", "9.0.0", 1), conflist.CodeUnsupportedVersion),
		Entry("whose primary is in no binary directory", "10-a.conflist", strings.Replace(calico, `"calico"`, `"flannel"`, 1), CodePrimaryMissing),
	)

	It("fails before it touches the conflist when a binary directory cannot take the binary", func() {
		path := m.has("10-calico.conflist", calico)
		in.Config.BinDirs = append(in.Config.BinDirs, filepath.Join(m.bin, "none"))
		out := pass()
		Expect(out.Fatal).To(MatchError(ContainSubstring(CodeBinDirUnusable)))
		Expect(read(path)).To(Equal(calico))
		Expect(filepath.Join(m.bin, "none")).NotTo(BeADirectory())
	})

	It("puts a missing binary back whatever the back-off, and does not fight over another one", func() {
		m.has("10-calico.conflist", calico)
		pass()
		for range 20 {
			Expect(os.Remove(m.plugin())).To(Succeed())
			Expect(pass().Restored).To(Equal(1))
		}
		m.write(m.bin, "result-enricher", stub+"# another\n")
		out := pass()
		Expect(out.Done).To(BeTrue())
		Expect(codes(out.Problems)).To(Equal([]string{CodeBinaryDifferent}))
		Expect(read(m.plugin())).To(HaveSuffix("# another\n"))
	})

	It("takes the entry out while the binary is gone for good, and puts it in again", func() {
		path := m.has("10-calico.conflist", calico)
		pass()
		Expect(os.Rename(m.bin, m.bin+".moved")).To(Succeed())
		out := pass()
		Expect(out.Present).To(BeFalse())
		Expect(read(path)).To(Equal(calico))
		Expect(os.Rename(m.bin+".moved", m.bin)).To(Succeed())
		Expect(pass().Done).To(BeTrue())
		Expect(read(path)).To(Equal(enriched))
	})

	It("moves on when the target changes, and takes the entry out of the former one", func() {
		former := m.has("10-calico.conflist", calico)
		pass()
		target := m.has("05-new.conflist", "{") // being written
		pass()
		Expect(read(former)).To(Equal(enriched), "the new target is not decided yet")
		m.has("05-new.conflist", calico)
		Expect(pass().Inserted).To(Equal(1))
		Expect(read(target)).To(Equal(enriched))
		Expect(read(former)).To(Equal(calico))
	})

	It("edits every named file, and only these", func() {
		first, second := m.has("10-a.conflist", calico), m.has("20-b.conflist", calico)
		other := m.has("05-c.conflist", calico)
		in.Config.ConfFiles = []string{first, second}
		Expect(pass().Inserted).To(Equal(2))
		Expect([]string{read(first), read(second), read(other)}).To(Equal([]string{enriched, enriched, calico}))
	})

	It("sweeps what a killed process left", func() {
		m.has("10-calico.conflist", enriched)
		m.has("10-calico.conflist.result-enricher-tmp-0123456789abcdef", "half")
		m.write(m.bin, "result-enricher.result-enricher-tmp-0123456789abcdef", "half")
		pass()
		Expect(names(m.conf)).To(ConsistOf("10-calico.conflist"))
		Expect(names(m.bin)).To(ConsistOf("calico", "result-enricher"))
	})

	It("shows a diff instead of writing", func() {
		path := m.has("10-calico.conflist", calico)
		m.has("10-calico.conflist.result-enricher-tmp-0123456789abcdef", "half")
		var shown string
		in.DryRun = func(diff string) { shown += diff }
		Expect(in.Pass(ctx).Done).To(BeTrue())
		Expect(shown).To(HavePrefix("--- " + path + "\n+++ " + path + "\n@@ -3,6 +3,7 @@\n"))
		Expect(shown).To(ContainSubstring("\n+    {\"type\":\"result-enricher\"}\n"))
		Expect(read(path)).To(Equal(calico))
		Expect(names(m.conf)).To(HaveLen(2))
		Expect(names(m.bin)).To(ConsistOf("calico"))
	})

	It("backs off in a fight, names it, and goes back to normal", func() {
		path := m.has("10-cilium.conflist", strings.Replace(calico, "portmap", "cilium-cni", 1))
		contested := read(path)
		writes := 0
		for range 600 { // a minute of a fight ten times a second
			out := pass()
			writes += out.Inserted
			m.has("10-cilium.conflist", contested)
			m.clock.advance(100 * time.Millisecond)
		}
		Expect(writes).To(Equal(10)) // five at once, then at 10, 20, 30, 40 and 50 seconds
		out := pass()
		Expect(out.Contended).To(BeTrue())
		Expect(out.Again).To(BeNumerically("~", 400*time.Millisecond, time.Millisecond))
		Expect(codes(out.Problems)).To(Equal([]string{CodeContended}))
		Expect(out.Problems[0].Cure).To(ContainSubstring("cni.exclusive=false"))
		Expect(m.log).To(gbytes.Say(`keeps undoing the change.*10-cilium\.conflist.*cni\.exclusive=false`))
		Expect(m.log).NotTo(gbytes.Say("keeps undoing"), "it is told once")
		m.clock.advance(2 * time.Minute)
		out = pass()
		Expect(out.Done).To(BeTrue())
		Expect(out.Contended).To(BeFalse())
	})

	It("ends when a directory is deleted under it", func() {
		Expect(checkGone([]string{m.conf})).To(Succeed())
		seen, dirs := presence{}, []string{m.conf, filepath.Join(m.conf, "never")}
		check := func() error { return seen.check(dirs, m.clock.Now()) }
		Expect(check()).To(Succeed())
		Expect(os.Remove(m.conf)).To(Succeed())
		Expect(check()).To(Succeed())
		m.clock.advance(goneAfter - time.Second)
		Expect(check()).To(Succeed())
		Expect(os.Mkdir(m.conf, 0o755)).To(Succeed())
		m.clock.advance(goneAfter)
		Expect(check()).To(Succeed(), "it is back")
		Expect(os.Remove(m.conf)).To(Succeed())
		Expect(check()).To(Succeed())
		m.clock.advance(goneAfter)
		Expect(check()).To(MatchError(ErrGone))
		Expect(check()).To(MatchError(ContainSubstring(m.conf)))
	})
})

// canceled is a context that has ended: whoever waits with it does not.
func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
