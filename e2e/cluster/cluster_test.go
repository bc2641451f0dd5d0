// SPDX-License-Identifier: Apache-2.0

// Package cluster_test runs result-enricher under the real components of a
// cluster: the Calico CNI plugin of an affected release, multus, and a whole node.
package cluster_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/e2e/cluster/internal/machine"
)

func TestMain(m *testing.M) {
	os.Exit(machine.Run(build, m.Run))
}

func TestCluster(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(30 * time.Second)
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	RunSpecs(t, "Cluster")
}

// build makes the programs that are the project's own: the plugin under test, from the
// working tree, and the pods' program. It runs before the private machine has
// taken the network away, in case modules have to be fetched.
func build(dir string) error {
	for program, source := range map[string][2]string{
		"result-enricher": {filepath.Join("..", ".."), "./plugin/result-enricher"},
		"enrichctl":       {filepath.Join("..", ".."), "./enrichctl"},
		"pause":           {".", "./internal/pause"},
	} {
		cmd := exec.Command("go", "build", "-C", source[0], "-trimpath", "-o", filepath.Join(dir, program), source[1])
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if output, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", program, err, output)
		}
	}
	return nil
}
