// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
)

func TestEnrichctl(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "enrichctl")
}

// program is the built enrichctl, with the built plugin beside it.
var program string

var _ = BeforeSuite(func() {
	const module = "github.com/result-enricher/result-enricher"
	static := append(os.Environ(), "CGO_ENABLED=0")
	dir := GinkgoT().TempDir()
	for _, pkg := range []string{"enrichctl", "plugin/result-enricher"} {
		built, err := gexec.BuildWithEnvironment(module+"/"+pkg, static, "-trimpath", "-ldflags=-X main.version=v1.2.3")
		Expect(err).NotTo(HaveOccurred())
		Expect(os.Rename(built, filepath.Join(dir, filepath.Base(pkg)))).To(Succeed())
	}
	gexec.CleanupBuildArtifacts()
	program = filepath.Join(dir, "enrichctl")
	SetDefaultEventuallyTimeout(10 * time.Second)
})

const (
	calico = `{
  "name": "pods",
  "cniVersion": "1.0.0",
  "plugins": [
    {"type": "calico", "mtu": 1500},
    {"type": "portmap", "snat": true}
  ]
}
`
	enriched = `{
  "name": "pods",
  "cniVersion": "1.0.0",
  "plugins": [
    {"type": "calico", "mtu": 1500},
    {"type": "portmap", "snat": true},
    {"type":"result-enricher"}
  ]
}
`
)

// version gives the n-th version of the primary's conflist, and with the entry.
func version(n int) (plain, with string) {
	name := `"pods-` + strconv.Itoa(n) + `"`
	return strings.Replace(calico, `"pods"`, name, 1), strings.Replace(enriched, `"pods"`, name, 1)
}

// lab is a node in temporary directories.
type lab struct {
	root, conf, bin, cache string
	// env is added to the environment of every command.
	env []string
}

func newLab() *lab {
	GinkgoHelper()
	root := GinkgoT().TempDir()
	l := &lab{root: root, conf: filepath.Join(root, "net.d"), bin: filepath.Join(root, "bin"), cache: filepath.Join(root, "cache")}
	for _, dir := range []string{l.conf, l.bin, l.cache} {
		Expect(os.Mkdir(dir, 0o755)).To(Succeed())
	}
	for _, plugin := range []string{"calico", "portmap"} {
		Expect(os.WriteFile(filepath.Join(l.bin, plugin), nil, 0o755)).To(Succeed())
	}
	return l
}

func (l *lab) list() string   { return filepath.Join(l.conf, "10-calico.conflist") }
func (l *lab) plugin() string { return filepath.Join(l.bin, "result-enricher") }

// has writes a file into the configuration directory.
func (l *lab) has(name, content string) string {
	GinkgoHelper()
	path := filepath.Join(l.conf, name)
	Expect(os.WriteFile(path, []byte(content), 0o644)).To(Succeed())
	return path
}

// renames writes the conflist as most primaries do, by a rename.
func (l *lab) renames(content string) {
	GinkgoHelper()
	Expect(os.Rename(l.has("10-calico.conflist.tmp", content), l.list())).To(Succeed())
}

// args gives the arguments of a command with the flags that say where things are.
func (l *lab) args(args ...string) []string {
	places := []string{"--cni-conf-dir", l.conf, "--cni-bin-dir", l.bin}
	if args[0] != "install" {
		places = append(places, "--cache-dir", l.cache)
	}
	return append(append([]string{args[0]}, places...), args[1:]...)
}

// command makes a command without the variables of whoever runs the tests.
func (l *lab) command(args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "ENRICHCTL_") {
			cmd.Env = append(cmd.Env, pair)
		}
	}
	cmd.Env = append(cmd.Env, l.env...)
	return cmd
}

func (l *lab) start(cmd *exec.Cmd) *gexec.Session {
	GinkgoHelper()
	session, err := gexec.Start(cmd, GinkgoWriter, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Eventually(session.Kill()).Should(gexec.Exit()) })
	return session
}

// runs gives a command that has ended with the code.
func (l *lab) runs(code int, args ...string) *gexec.Session {
	GinkgoHelper()
	session := l.start(l.command(args...))
	Eventually(session).Should(gexec.Exit(code))
	return session
}

func stdout(s *gexec.Session) string { return string(s.Out.Contents()) }
func stderr(s *gexec.Session) string { return string(s.Err.Contents()) }

func read(path string) string {
	GinkgoHelper()
	data, err := os.ReadFile(path)
	Expect(err).NotTo(HaveOccurred())
	return string(data)
}

// reader is for Eventually: what a file says now, or why that cannot be told.
func reader(path string) func() string {
	return func() string {
		data, err := os.ReadFile(path)
		if err != nil {
			return err.Error()
		}
		return string(data)
	}
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

// knob reads a number from the environment: how often a test repeats something.
func knob(name string, otherwise int) int {
	GinkgoHelper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	Expect(err).NotTo(HaveOccurred(), name)
	return n
}
