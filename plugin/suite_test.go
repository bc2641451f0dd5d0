// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/internal/host"
	"github.com/result-enricher/result-enricher/internal/isolate"
)

// binary is the plugin, built for the suite as it is built for users.
var binary string

func TestMain(m *testing.M) {
	os.Exit(isolate.TestMain(build, func(dir string) int {
		binary = filepath.Join(dir, "result-enricher")
		return m.Run()
	}))
}

// build needs the machine's module cache and network, which the specs do not.
func build(dir string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w -X main.version=v0.0.0-suite", "-o", dir, "./result-enricher")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the plugin: %w\n%s", err, out)
	}
	return nil
}

func TestPlugin(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "plugin")
}

var _ = host.Watch()
