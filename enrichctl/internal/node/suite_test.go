// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"

	"github.com/result-enricher/result-enricher/enrichctl/internal/binary"
	"github.com/result-enricher/result-enricher/enrichctl/internal/conflist"
)

func TestNode(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "node")
}

const (
	// calico and enriched are a primary's conflist, without the entry and with it.
	calico = `{
  "name": "pods",
  "cniVersion": "1.0.0",
  "plugins": [
    {"type": "calico"},
    {"type": "portmap"}
  ]
}
`
	enriched = `{
  "name": "pods",
  "cniVersion": "1.0.0",
  "plugins": [
    {"type": "calico"},
    {"type": "portmap"},
    {"type":"result-enricher"}
  ]
}
`
	stub = "#!/bin/sh\nprintf '%s' '{\"cniVersion\":\"1.0.0\",\"supportedVersions\":[\"0.3.1\",\"1.0.0\",\"1.1.0\"]}'\n"
)

// machine is a node in temporary directories: a configuration directory, a binary directory
// with the primary's plugin, and a stand-in for ours that answers VERSION.
type machine struct {
	conf, bin, cache, source string
	config                   Config
	log                      *gbytes.Buffer
	clock                    *clock
}

func newMachine() *machine {
	GinkgoHelper()
	root := GinkgoT().TempDir()
	m := &machine{
		conf: filepath.Join(root, "net.d"), bin: filepath.Join(root, "bin"), cache: filepath.Join(root, "cache"),
		source: filepath.Join(root, "result-enricher"), log: gbytes.NewBuffer(), clock: newClock(),
	}
	for _, dir := range []string{m.conf, m.bin, m.cache} {
		Expect(os.Mkdir(dir, 0o755)).To(Succeed())
	}
	Expect(os.WriteFile(m.source, []byte(stub), 0o755)).To(Succeed())
	m.write(m.bin, "calico", "")
	m.config = Config{ConfDir: m.conf, RuntimeConfDir: m.conf, BinDirs: []string{m.bin}, CacheDirs: []string{m.cache}}
	return m
}

func (m *machine) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(m.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func (m *machine) installer() *Installer {
	GinkgoHelper()
	source, err := binary.Open(context.Background(), m.source)
	Expect(err).NotTo(HaveOccurred())
	entry, err := conflist.Entry([]byte("{}"))
	Expect(err).NotTo(HaveOccurred())
	return &Installer{Config: m.config, Entry: entry, Source: source, Editor: NewEditor(m.logger(), m.clock)}
}

func (m *machine) remover() *Remover {
	return &Remover{Config: m.config, Editor: NewEditor(m.logger(), m.clock)}
}

func (m *machine) write(dir, name, content string) string {
	GinkgoHelper()
	path := filepath.Join(dir, name)
	Expect(os.WriteFile(path, []byte(content), 0o644)).To(Succeed())
	return path
}

// has writes a conflist, or whatever, into the configuration directory.
func (m *machine) has(name, content string) string {
	GinkgoHelper()
	return m.write(m.conf, name, content)
}

func (m *machine) plugin() string { return filepath.Join(m.bin, conflist.PluginType) }

func read(path string) string {
	GinkgoHelper()
	data, err := os.ReadFile(path)
	Expect(err).NotTo(HaveOccurred())
	return string(data)
}

func names(dir string) []string {
	GinkgoHelper()
	entries, err := os.ReadDir(dir)
	Expect(err).NotTo(HaveOccurred())
	list := []string{}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func codes(problems []*Problem) []string {
	list := []string{}
	for _, p := range problems {
		list = append(list, p.Code)
	}
	return list
}

// clock stands still until it is told to go on.
type clock struct {
	mu     sync.Mutex
	now    time.Time
	alarms []alarm
}

type alarm struct {
	at time.Time
	c  chan time.Time
}

func newClock() *clock { return &clock{now: time.Unix(1_700_000_000, 0)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := alarm{c.now.Add(d), make(chan time.Time, 1)}
	c.alarms = append(c.alarms, one)
	return one.c
}

// advance lets time pass and sets off the alarms that are due.
func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	var later []alarm
	for _, a := range c.alarms {
		if a.at.After(c.now) {
			later = append(later, a)
		} else {
			a.c <- c.now
		}
	}
	c.alarms = later
}
