// SPDX-License-Identifier: Apache-2.0

// Package drivers goes the way of those who get a namespace's path and nothing else: a Nomad task driver, and whoever
// starts a Firecracker machine. Chains run through the code that these run them through, and then the library and
// enrichctl must give everything from the ID alone. It has only tests, and the outputs that the README shows.
package drivers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/e2e/internal/binaries"
	"github.com/result-enricher/result-enricher/internal/host"
	"github.com/result-enricher/result-enricher/internal/isolate"
)

// tapMaker stands in for tc-redirect-tap.
const tapMaker = "github.com/result-enricher/result-enricher/e2e/drivers/tap-maker"

// binDir is CNI_PATH, with enrichctl besides the plugins.
var binDir string

func TestMain(m *testing.M) {
	if program := os.Getenv(asUser); program != "" {
		os.Exit(insideUserNamespace(program))
	}
	os.Exit(isolate.TestMain(func(dir string) error {
		if err := binaries.Build(dir, binaries.CalicoShaped, binaries.PTP, binaries.HostLocal, binaries.Portmap, tapMaker); err != nil {
			return err
		}
		if err := binaries.BuildPlugin(dir); err != nil {
			return err
		}
		return buildEnrichctl(dir)
	}, func(dir string) int {
		binDir = dir
		return m.Run()
	}))
}

// buildEnrichctl builds in the main module, so that the versions of its own go.mod count.
func buildEnrichctl(dir string) error {
	cmd := exec.Command("go", "build", "-C", filepath.Join("..", ".."), "-trimpath", "-o", dir+"/", "./enrichctl")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build enrichctl: %w\n%s", err, out)
	}
	return nil
}

func TestDrivers(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "drivers")
}

var _ = host.Watch()
