// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/e2e/cluster/internal/machine"
	"github.com/result-enricher/result-enricher/e2e/cluster/internal/process"
)

// ResultCache is where libcni keeps the Result of every attachment, when the runtime does not say otherwise.
const ResultCache = "/var/lib/cni/results"

// PluginBinary is where the plugin under test was built to.
func PluginBinary() string { return filepath.Join(machine.Dir(), "result-enricher") }

// CNI is a node's CNI directories, and a runtime that uses them.
type CNI struct {
	// BinDir has the plugins.
	BinDir string
	// ConfDir is where the runtime looks for its network.
	ConfDir string

	// environment is what plugins inherit from the runtime.
	environment []string
}

// NewCNI makes the directories. The plugins are links to where they were built; they
// inherit the environment from whatever runs them.
func NewCNI(environment ...string) *CNI {
	ginkgo.GinkgoHelper()
	dir := tempDir("cni")
	c := &CNI{BinDir: filepath.Join(dir, "bin"), ConfDir: filepath.Join(dir, "net.d"), environment: environment}
	gomega.Expect(os.Mkdir(c.BinDir, 0o755)).To(gomega.Succeed())
	gomega.Expect(os.Mkdir(c.ConfDir, 0o755)).To(gomega.Succeed())
	// calico and calico-ipam are one program, which goes by the name that it is called by.
	for _, plugin := range []string{"bandwidth", "calico", "calico-ipam", "host-local", "loopback", "macvlan", "multus", "multus-shim"} {
		gomega.Expect(os.Symlink(binary(strings.TrimSuffix(plugin, "-ipam")), filepath.Join(c.BinDir, plugin))).To(gomega.Succeed())
	}
	gomega.Expect(PluginBinary()).To(gomega.BeAnExistingFile())
	gomega.Expect(os.Symlink(PluginBinary(), filepath.Join(c.BinDir, "result-enricher"))).To(gomega.Succeed())
	return c
}

// Environ is the environment for a runtime.
func (c *CNI) Environ() []string { return append(os.Environ(), c.environment...) }

// Write puts a configuration into ConfDir and returns its path. A runtime that
// watches the directory never sees half of it.
func (c *CNI) Write(name string, content []byte) string {
	ginkgo.GinkgoHelper()
	path := filepath.Join(c.ConfDir, name)
	writeFile(path+".tmp", content)
	gomega.Expect(os.Rename(path+".tmp", path)).To(gomega.Succeed())
	return path
}

// Call does what a container runtime does, with cnitool: command is add, check or del.
// It returns the Result, as the last plugin printed it.
func (c *CNI) Call(command, network, netns, cniArgs string) (string, error) {
	cmd := exec.Command(binary("cnitool"), command, network, netns)
	cmd.Env = append(c.Environ(), "NETCONFPATH="+c.ConfDir, "CNI_PATH="+c.BinDir, "CNI_ARGS="+cniArgs, "CNI_IFNAME=eth0")
	return process.TryOutput(cmd)
}
