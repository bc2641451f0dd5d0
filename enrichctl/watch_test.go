// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"
)

var _ = Describe("install --watch", func() {
	var l *lab
	BeforeEach(func() { l = newLab() })

	watch := func(args ...string) *gexec.Session {
		GinkgoHelper()
		return l.start(l.command(l.args(append([]string{"install", "--watch"}, args...)...)...))
	}
	// watching is watch with the entry in place.
	watching := func(args ...string) *gexec.Session {
		GinkgoHelper()
		l.has("10-calico.conflist", calico)
		s := watch(args...)
		Eventually(reader(l.list())).Should(Equal(enriched))
		return s
	}

	It("says at the start what it found and what it will do, and what the next pod gets", func() {
		s := watching()
		Expect(stderr(s)).To(SatisfyAll(
			ContainSubstring("watching: will"), ContainSubstring(l.list()), ContainSubstring("entry-missing"), ContainSubstring(l.bin),
		))
		Eventually(s.Out).Should(gbytes.Say("The next pod gets a repaired Result"))
	})

	It("ends with 0 on SIGTERM and changes nothing", func() {
		s := watching()
		before := state(l)
		Eventually(s.Terminate()).Should(gexec.Exit(0))
		Expect(state(l)).To(Equal(before))
	})

	It("ends with 0 while it waits, too", func() {
		s := watch()
		Eventually(s.Err).Should(gbytes.Say("no network configuration yet"))
		Eventually(s.Interrupt()).Should(gexec.Exit(0))
		Expect(names(l.conf)).To(BeEmpty())
	})

	It("waits for the primary, whatever it takes, and touches nothing that is not finished", func() {
		s := watch()
		Eventually(l.plugin).Should(BeAnExistingFile())
		for _, half := range []string{"", "{", calico[:100]} {
			l.has("10-calico.conflist", half)
			Consistently(reader(l.list()), "100ms").Should(Equal(half))
		}
		Eventually(s.Err).Should(gbytes.Say("json-invalid"))
		l.renames(calico)
		Eventually(reader(l.list())).Should(Equal(enriched))
	})

	It("shows the runtime every change, and never makes the conflist's name vanish", func() {
		watching()
		runtime := newContainerd(l)
		for n := range 3 {
			plain, with := version(n)
			l.renames(plain)
			Eventually(runtime.loaded).Should(Equal(with))
		}
		Expect(runtime.vanished()).To(BeZero())
	})

	It("puts a missing binary back at once, and reports another one", func() {
		s := watching()
		for range 8 {
			Expect(os.Remove(l.plugin())).To(Succeed())
			Eventually(l.plugin).Should(BeAnExistingFile())
		}
		other := l.plugin() + ".other"
		Expect(os.WriteFile(other, []byte("#!/bin/sh\n"), 0o755)).To(Succeed())
		Expect(os.Rename(other, l.plugin())).To(Succeed())
		Eventually(s.Err).Should(gbytes.Say("binary-different"))
		Expect(read(l.plugin())).To(Equal("#!/bin/sh\n"))
	})

	It("moves on to a new first file", func() {
		watching()
		first := l.has("05-new.conflist", calico)
		Eventually(reader(first)).Should(Equal(enriched))
		Eventually(reader(l.list())).Should(Equal(calico))
	})

	It("follows a primary that turns a link to another file", func() {
		one, two := filepath.Join(GinkgoT().TempDir(), "one"), filepath.Join(GinkgoT().TempDir(), "two")
		for _, path := range []string{one, two} {
			Expect(os.WriteFile(path, []byte(calico), 0o644)).To(Succeed())
		}
		Expect(os.Symlink(one, l.list())).To(Succeed())
		watch()
		Eventually(reader(one)).Should(Equal(enriched))
		Consistently(reader(one), "200ms").Should(Equal(enriched)) // the pass for our own change is over
		Expect(os.WriteFile(one+".new", []byte(calico), 0o644)).To(Succeed())
		Expect(os.Rename(one+".new", one)).To(Succeed(), "the primary rewrites the real file")
		Eventually(reader(one)).Should(Equal(enriched))
		Expect(os.Symlink(two, l.list()+".new")).To(Succeed())
		Expect(os.Rename(l.list()+".new", l.list())).To(Succeed())
		Eventually(reader(two)).Should(Equal(enriched))
		Expect(os.Readlink(l.list())).To(Equal(two))
	})

	It("watches a directory that has taken the place of another", func() {
		watching()
		Expect(os.Rename(l.conf, l.conf+".old")).To(Succeed())
		Expect(os.Mkdir(l.conf, 0o755)).To(Succeed())
		l.has("10-calico.conflist", calico)
		Eventually(reader(l.list())).Should(Equal(enriched))
		l.renames(calico)
		Eventually(reader(l.list())).Should(Equal(enriched))
		Expect(os.RemoveAll(l.conf)).To(Succeed())
		Expect(os.Mkdir(l.conf, 0o755)).To(Succeed())
		l.has("10-calico.conflist", calico)
		Eventually(reader(l.list())).Should(Equal(enriched))
	})

	It("ends with 1 when the directory is gone and stays so", func() {
		s := watching()
		Expect(os.RemoveAll(l.conf)).To(Succeed())
		Eventually(s, 20*time.Second).Should(gexec.Exit(1))
		Expect(stderr(s)).To(ContainSubstring("directory has been deleted"))
		Expect(l.conf).NotTo(BeADirectory())
	})

	It("keeps five rewrites in a minute right at once, and then holds back and says what to set", func() {
		rival := strings.Replace(calico, "portmap", "cilium-cni", 1)
		Expect(os.WriteFile(filepath.Join(l.bin, "cilium-cni"), nil, 0o755)).To(Succeed())
		l.has("10-calico.conflist", rival)
		var removals atomic.Int64
		onEvents(l.conf, func(fsnotify.Event) {
			if strings.Contains(reader(l.list())(), "result-enricher") {
				removals.Add(1)
				l.renames(rival)
			}
		})
		s := watch()
		Eventually(removals.Load).Should(BeEquivalentTo(5))
		Consistently(removals.Load, time.Second).Should(BeEquivalentTo(5))
		Eventually(s.Err).Should(gbytes.Say(`keeps undoing.*10-calico\.conflist.*cni\.exclusive=false`))
		Expect(names(l.conf)).To(ConsistOf("10-calico.conflist"))
	})

	It("keeps the second of two writes that come within milliseconds", func() {
		for round := range 4 {
			l = newLab()
			s := watching()
			for n := range 2 {
				first, _ := version(10 * n)
				second, with := version(10*n + 1)
				write := func(content string) { l.has("10-calico.conflist", content) }
				if round%2 == 0 {
					write = l.renames
				}
				write(first)
				write(second)
				Eventually(reader(l.list())).Should(Equal(with))
				Consistently(reader(l.list()), "100ms").Should(Equal(with))
			}
			Eventually(s.Terminate()).Should(gexec.Exit(0))
			Expect(names(l.conf)).To(ConsistOf("10-calico.conflist"))
		}
	})

	It("loses nothing that a primary writes in place and slowly", func() {
		watching()
		plain, with := version(2)
		now, err := os.OpenFile(l.list(), os.O_RDWR|os.O_TRUNC, 0)
		Expect(err).NotTo(HaveOccurred())
		defer now.Close()
		written := ""
		for piece := range slices.Chunk([]byte(plain), 40) {
			_, err := now.Write(piece)
			Expect(err).NotTo(HaveOccurred())
			if written += string(piece); !json.Valid([]byte(written)) {
				Consistently(reader(l.list()), "60ms").Should(Equal(written))
			}
		}
		Expect(now.Close()).To(Succeed())
		Eventually(reader(l.list())).Should(Equal(with))
	})

	It("takes over what is written into the file that it has replaced", func() {
		l.has("10-calico.conflist", calico)
		file, err := os.OpenFile(l.list(), os.O_RDWR, 0)
		Expect(err).NotTo(HaveOccurred())
		defer file.Close()
		s := watch()
		Eventually(reader(l.list())).Should(Equal(enriched))
		plain, with := version(3)
		Expect(file.Truncate(0)).To(Succeed())
		at := int64(0)
		for piece := range slices.Chunk([]byte(plain), 50) {
			_, err := file.WriteAt(piece, at)
			Expect(err).NotTo(HaveOccurred())
			at += int64(len(piece))
			if at < int64(len(plain)) {
				Consistently(reader(l.list()), "50ms").Should(Equal(enriched))
			}
		}
		Eventually(reader(l.list())).Should(Equal(with))
		Eventually(s.Err).Should(gbytes.Say("took over what the owner wrote"))
	})

	It("serves metrics, and goes on when the port is taken", func() {
		s := watching("--metrics-address", "127.0.0.1:0")
		var address [][]byte
		Eventually(func() [][]byte {
			address = regexp.MustCompile(`serving metrics","address":"([^"]+)"`).FindSubmatch(s.Err.Contents())
			return address
		}).ShouldNot(BeNil())
		get := func(path string) func() (string, error) {
			return func() (string, error) {
				answer, err := http.Get(fmt.Sprintf("http://%s%s", address[1], path))
				if err != nil {
					return "", err
				}
				defer answer.Body.Close()
				var body bytes.Buffer
				_, err = body.ReadFrom(answer.Body)
				return fmt.Sprint(answer.StatusCode, " ", body.String()), err
			}
		}
		Eventually(get("/readyz")).Should(Equal("200 ok\n"))
		Eventually(get("/healthz")).Should(Equal("200 ok\n"))
		l.renames(calico)
		Eventually(get("/metrics")).Should(SatisfyAll(
			ContainSubstring("enrichctl_entry_present 1\n"), ContainSubstring("enrichctl_reinsertions_total 1\n")))
		l.has("10-calico.conflist", "{")
		Eventually(get("/readyz")).Should(HavePrefix("503 "))
		Eventually(get("/metrics")).Should(ContainSubstring(`enrichctl_refusals_total{reason="json-invalid"} 1`))

		taken := httptest.NewServer(nil)
		defer taken.Close()
		l = newLab()
		second := watching("--metrics-address", taken.Listener.Addr().String())
		Eventually(second.Err).Should(gbytes.Say("cannot serve metrics; the work goes on"))
		l.renames(calico)
		Eventually(reader(l.list())).Should(Equal(enriched))
	})

	It("costs next to nothing while nothing happens", func() {
		s := watching()
		Eventually(s.Out).Should(gbytes.Say("next pod"))
		cpu := func() time.Duration {
			data := strings.Fields(read(fmt.Sprintf("/proc/%d/stat", s.Command.Process.Pid)))
			var user, system int64
			_, err := fmt.Sscan(data[13]+" "+data[14], &user, &system)
			Expect(err).NotTo(HaveOccurred())
			return time.Duration(user+system) * 10 * time.Millisecond
		}
		var before time.Duration
		Eventually(func() bool { // until the start is over
			last := before
			before = cpu()
			return last == before
		}, "10s", "1s").Should(BeTrue())
		start := time.Now()
		idle := time.Duration(knob("ENRICHCTL_IDLE_SECONDS", 3)) * time.Second
		Consistently(s, idle).ShouldNot(gexec.Exit())
		used := cpu() - before
		AddReportEntry("idle CPU of --watch", fmt.Sprintf("%v in %v", used, time.Since(start).Round(time.Second)))
		Expect(used).To(BeNumerically("<", idle/20))
	})
})
