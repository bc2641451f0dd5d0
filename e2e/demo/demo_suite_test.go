// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/e2e/internal/binaries"
	"github.com/result-enricher/result-enricher/internal/isolate"
)

// binDir has the demo, the plugin, and a reference plugin that hands prevResult on as it is.
var binDir string

func TestMain(m *testing.M) {
	os.Exit(isolate.TestMain(func(dir string) error {
		if err := binaries.Build(dir, binaries.Demo, binaries.Portmap); err != nil {
			return err
		}
		return binaries.BuildPlugin(dir)
	}, func(dir string) int {
		binDir = dir
		return m.Run()
	}))
}

func TestDemo(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "the demo")
}

func bin(name string) string { return filepath.Join(binDir, name) }
