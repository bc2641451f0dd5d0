// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"
)

var _ = Describe("uninstall", func() {
	var l *lab
	BeforeEach(func() { l = newLab() })

	// cached writes what a container's cache says about its configuration.
	cached := func(dir, format, list string) string {
		GinkgoHelper()
		Expect(os.MkdirAll(filepath.Join(l.cache, dir), 0o700)).To(Succeed())
		path := filepath.Join(l.cache, dir, "pods-container7-eth0")
		Expect(os.WriteFile(path, fmt.Appendf(nil, format, base64.StdEncoding.EncodeToString([]byte(list))), 0o600)).To(Succeed())
		return path
	}
	const libcni = `{"kind":"cniCacheV1","containerId":"container7","config":"%s","ifName":"eth0","networkName":"pods","netns":"/gone"}`
	const multus = `[{"Conf":{},"Bytes":"%s"}]`

	It("gives back the bytes, the mode and the owner, and leaves the binary", func() {
		l.has("10-calico.conflist", calico)
		Expect(os.Chmod(l.list(), 0o640)).To(Succeed())
		if os.Geteuid() == 0 {
			Expect(os.Chown(l.list(), 4321, 4322)).To(Succeed())
		}
		before, err := os.Stat(l.list())
		Expect(err).NotTo(HaveOccurred())
		l.runs(0, l.args("install")...)
		Expect(read(l.list())).To(Equal(enriched))
		s := l.runs(0, l.args("uninstall")...)
		Expect(read(l.list())).To(Equal(calico))
		after, err := os.Stat(l.list())
		Expect(err).NotTo(HaveOccurred())
		Expect(after.Mode()).To(Equal(before.Mode()))
		Expect(after.Sys().(*syscall.Stat_t).Uid).To(Equal(before.Sys().(*syscall.Stat_t).Uid))
		Expect(after.Sys().(*syscall.Stat_t).Gid).To(Equal(before.Sys().(*syscall.Stat_t).Gid))
		Expect(l.plugin()).To(BeAnExistingFile())
		Expect(stdout(s)).To(ContainSubstring("out of 1 file"))
		Expect(names(l.conf)).To(HaveLen(1))
	})

	It("has nothing to do the second time", func() {
		l.has("10-calico.conflist", calico)
		before := state(l)
		Expect(stdout(l.runs(0, l.args("uninstall")...))).To(HavePrefix("No file had the entry"))
		Expect(state(l)).To(Equal(before))
	})

	It("shows with --dry-run what it would do", func() {
		l.has("10-calico.conflist", enriched)
		s := l.runs(0, l.args("uninstall", "--dry-run")...)
		Expect(stdout(s)).To(ContainSubstring("\n-    {\"type\":\"result-enricher\"}\n"))
		Expect(read(l.list())).To(Equal(enriched))
	})

	It("looks again, and fails when an install --watch puts the entry back", func() {
		l.has("10-calico.conflist", calico)
		watch := l.start(l.command(l.args("install", "--watch")...))
		Eventually(reader(l.list())).Should(Equal(enriched))
		s := l.runs(1, l.args("uninstall")...)
		Expect(stderr(s)).To(ContainSubstring("install --watch still runs here"))
		Eventually(watch.Terminate()).Should(gexec.Exit(0))
		l.runs(0, l.args("uninstall")...)
		Expect(read(l.list())).To(Equal(calico))
	})

	It("stays and keeps the entry out with --watch", func() {
		l.has("10-calico.conflist", enriched)
		watch := l.start(l.command(l.args("uninstall", "--watch")...))
		Eventually(reader(l.list())).Should(Equal(calico))
		l.renames(enriched)
		Eventually(reader(l.list())).Should(Equal(calico))
		l.has("05-new.conflist", enriched)
		Eventually(reader(filepath.Join(l.conf, "05-new.conflist"))).Should(Equal(calico))
		Expect(l.plugin()).NotTo(BeAnExistingFile())
		Eventually(watch.Terminate()).Should(gexec.Exit(0))
	})

	Describe("--purge", func() {
		// The entry is out already, which spares waiting for runtimes to notice.
		BeforeEach(func() {
			l.has("10-calico.conflist", calico)
			l.runs(0, l.args("install")...)
			l.renames(calico)
		})

		It("removes the binary, some seconds after the entry", func() {
			l.renames(enriched)
			s := l.start(l.command(l.args("uninstall", "--purge")...))
			Eventually(reader(l.list())).Should(Equal(calico))
			Consistently(l.plugin, 3*time.Second).Should(BeAnExistingFile())
			Eventually(s).Should(gexec.Exit(0))
			Expect(l.plugin()).NotTo(BeAnExistingFile())
			Expect(read(filepath.Join(l.bin, "calico"))).To(BeEmpty())
		})

		It("takes the entry out even when the binary has to stay", func() {
			l.renames(enriched)
			cached("results", libcni, enriched)
			l.runs(1, l.args("uninstall", "--purge")...)
			Expect(read(l.list())).To(Equal(calico))
			Expect(l.plugin()).To(BeAnExistingFile())
		})

		DescribeTable("refuses while a cached configuration names it, unless forced",
			func(dir, format, container string) {
				path := cached(dir, format, enriched)
				s := l.runs(1, l.args("uninstall", "--purge")...)
				Expect(stderr(s)).To(SatisfyAll(ContainSubstring(path), ContainSubstring("container "+container)))
				Expect(l.plugin()).To(BeAnExistingFile())
				l.runs(0, l.args("uninstall", "--purge", "--force")...)
				Expect(l.plugin()).NotTo(BeAnExistingFile())
			},
			Entry("libcni's results", "results", libcni, "container7"),
			Entry("libcni's, in the directory itself", "", libcni, "container7"),
			Entry("multus's scratch", "", multus, "pods-container7-eth0"),
			Entry("multus's results", "results", libcni, "container7"),
		)

		It("refuses while a file of the configuration directory names it", func() {
			path := l.has("00-multus.conf", `{"name":"m","type":"multus","delegates":[`+enriched+`]}`)
			Expect(stderr(l.runs(1, l.args("uninstall", "--purge")...))).To(ContainSubstring(path))
			Expect(l.plugin()).To(BeAnExistingFile())
		})

		It("is not hindered by what does not name it", func() {
			cached("results", libcni, calico)
			l.runs(0, l.args("uninstall", "--purge")...)
			Expect(l.plugin()).NotTo(BeAnExistingFile())
		})

		It("does nothing more once a signal came", func() {
			l.renames(enriched)
			s := l.start(l.command(l.args("uninstall", "--purge")...))
			Eventually(s.Err).Should(gbytes.Say("took the entry out"))
			Eventually(s.Terminate()).Should(gexec.Exit(1))
			Expect(l.plugin()).To(BeAnExistingFile())
		})
	})
})
