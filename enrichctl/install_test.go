// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"
)

var _ = Describe("install", func() {
	var l *lab
	BeforeEach(func() { l = newLab() })

	It("puts binary and entry in place and says in one line what the next pod gets", func() {
		l.has("10-calico.conflist", calico)
		s := l.runs(0, l.args("install")...)
		Expect(read(l.list())).To(Equal(enriched))
		Expect(names(l.conf)).To(HaveLen(1))
		Expect(read(l.plugin())).To(Equal(read(filepath.Join(filepath.Dir(program), "result-enricher"))))
		Expect(stdout(s)).To(HavePrefix("The next pod gets a repaired Result"))
		Expect(strings.Count(stdout(s), "\n")).To(Equal(1))
	})

	It("writes nothing when everything is in place", func() {
		l.has("10-calico.conflist", enriched)
		l.runs(0, l.args("install")...)
		before := state(l)
		s := l.runs(0, l.args("install")...)
		Expect(state(l)).To(Equal(before))
		Expect(stderr(s)).To(BeEmpty())
	})

	It("fails on an empty directory and leaves it empty", func() {
		s := l.runs(1, l.args("install")...)
		Expect(names(l.conf)).To(BeEmpty())
		Expect(l.plugin()).NotTo(BeAnExistingFile())
		Expect(stdout(s)).To(BeEmpty())
		Expect(stderr(s)).To(SatisfyAll(ContainSubstring("conflist-missing"), ContainSubstring("--cni-conf-dir")))
	})

	It("creates no directory", func() {
		conf, bin := filepath.Join(l.root, "no-conf"), filepath.Join(l.root, "no-bin")
		Expect(stderr(l.runs(1, "install", "--cni-conf-dir", conf, "--cni-bin-dir", l.bin))).To(ContainSubstring("conf-dir-missing"))
		l.has("10-calico.conflist", calico)
		Expect(stderr(l.runs(1, l.args("install", "--cni-bin-dir", bin)...))).To(ContainSubstring("bin-dir-unusable"))
		Expect(conf).NotTo(BeADirectory())
		Expect(bin).NotTo(BeADirectory())
		Expect(read(l.list())).To(Equal(calico))
	})

	It("shows with --dry-run what it would do, as a diff", func() {
		l.has("10-calico.conflist", calico)
		s := l.runs(0, l.args("install", "--dry-run")...)
		Expect(stdout(s)).To(Equal("--- " + l.list() + "\n+++ " + l.list() + `
@@ -3,6 +3,7 @@
   "cniVersion": "1.0.0",
   "plugins": [
     {"type": "calico", "mtu": 1500},
-    {"type": "portmap", "snat": true}
+    {"type": "portmap", "snat": true},
+    {"type":"result-enricher"}
   ]
 }
`))
		Expect(read(l.list())).To(Equal(calico))
		Expect(l.plugin()).NotTo(BeAnExistingFile())
	})

	It("waits for the primary as long as it is told to", func() {
		waiting := l.start(l.command(l.args("install", "--timeout", "30s")...))
		Eventually(waiting.Err).Should(gbytes.Say("no network configuration yet"))
		l.has("10-calico.conflist", calico[:30])
		Eventually(waiting.Err).Should(gbytes.Say("json-invalid"))
		l.renames(calico)
		Eventually(waiting).Should(gexec.Exit(0))
		Expect(read(l.list())).To(Equal(enriched))
	})

	It("fails when the time is over, with the reason", func() {
		s := l.runs(1, l.args("install", "--timeout", "100ms")...)
		Expect(stderr(s)).To(SatisfyAll(ContainSubstring("waited 100ms"), ContainSubstring("conflist-missing")))
	})

	It("leaves the node alone when a signal ends the wait, and does not call that good", func() {
		waiting := l.start(l.command(l.args("install", "--timeout", "60s")...))
		Eventually(waiting.Err).Should(gbytes.Say("no network configuration yet"))
		Eventually(waiting.Terminate()).Should(gexec.Exit(1))
		Expect(names(l.conf)).To(BeEmpty())
	})

	It("upgrades the binary and replaces the settings", func() {
		l.has("10-calico.conflist", enriched)
		Expect(os.WriteFile(l.plugin(), []byte("old"), 0o755)).To(Succeed())
		l.runs(0, l.args("install", "--plugin-config", `{"logLevel": "debug"}`)...)
		Expect(read(l.plugin())).To(HavePrefix("\x7fELF"))
		Expect(read(l.list())).To(Equal(strings.Replace(enriched, `-enricher"}`, `-enricher","logLevel":"debug"}`, 1)))
	})

	It("says that multus has an old copy, and what to do", func() {
		l.has("10-calico.conflist", calico)
		l.has("00-multus.conf", `{"cniVersion":"1.0.0","name":"m","type":"multus","delegates":[`+calico+`]}`)
		s := l.runs(0, l.args("install")...)
		Expect(stdout(s)).To(SatisfyAll(ContainSubstring("does not get"), ContainSubstring("multus-stale"), ContainSubstring("clusterNetwork")))
	})

	It("prints the status as JSON when it is asked to", func() {
		l.has("10-calico.conflist", calico)
		Expect(stdout(l.runs(0, l.args("install", "-o", "json")...))).To(ContainSubstring(`"ready": true`))
	})

	It("follows a link, and refuses one that leads out of what is mounted", func() {
		file := filepath.Join(l.root, "list")
		Expect(os.WriteFile(file, []byte(calico), 0o600)).To(Succeed())
		Expect(os.Symlink(file, l.list())).To(Succeed())
		l.runs(0, l.args("install")...)
		Expect(os.Readlink(l.list())).To(Equal(file))
		Expect(read(file)).To(Equal(enriched))
		Expect(os.Remove(file)).To(Succeed())
		Expect(stderr(l.runs(1, l.args("install")...))).To(SatisfyAll(
			ContainSubstring("link-unreachable"), ContainSubstring("mount the directory "+l.root)))
	})

	It("gives way to no lock but waits for it", func() {
		l.has("10-calico.conflist", calico)
		dir, err := os.Open(l.conf)
		Expect(err).NotTo(HaveOccurred())
		defer dir.Close()
		Expect(syscall.Flock(int(dir.Fd()), syscall.LOCK_EX)).To(Succeed())
		s := l.start(l.command(l.args("install")...))
		Eventually(l.plugin).Should(BeAnExistingFile())
		Consistently(s, 200*time.Millisecond).ShouldNot(gexec.Exit())
		Expect(read(l.list())).To(Equal(calico))
		Expect(syscall.Flock(int(dir.Fd()), syscall.LOCK_UN)).To(Succeed())
		Eventually(s).Should(gexec.Exit(0))
		Expect(read(l.list())).To(Equal(enriched))
	})

	It("works twelve times at once", func() {
		l.has("10-calico.conflist", calico)
		var all []*gexec.Session
		for range 12 {
			all = append(all, l.start(l.command(l.args("install")...)))
		}
		for _, s := range all {
			Eventually(s).Should(gexec.Exit(0))
		}
		Expect(read(l.list())).To(Equal(enriched))
		Expect(names(l.conf)).To(HaveLen(1))
		Expect(names(l.bin)).To(ConsistOf("calico", "portmap", "result-enricher"))
	})
})

// state tells whether anything was written: inodes and times of all files.
func state(l *lab) map[string]any {
	GinkgoHelper()
	all := map[string]any{}
	for _, dir := range []string{l.conf, l.bin} {
		for _, name := range names(dir) {
			info, err := os.Stat(filepath.Join(dir, name))
			Expect(err).NotTo(HaveOccurred())
			stat := info.Sys().(*syscall.Stat_t)
			all[filepath.Join(dir, name)] = []any{stat.Ino, stat.Mtim, stat.Ctim}
		}
	}
	return all
}
