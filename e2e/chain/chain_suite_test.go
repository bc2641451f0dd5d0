// SPDX-License-Identifier: Apache-2.0

// Package chain runs real chains: cnitool's binary, the reference plugins and the project's Calico-shaped one, each
// with result-enricher behind it and without, at every CNI version. It has only tests.
//
// The suite's "host" is a network namespace of its own, and the directories where CNI keeps state are its own too
// (package isolate). After the last spec nothing may be left in them.
package chain

import (
	"os"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/e2e/internal/binaries"
	"github.com/result-enricher/result-enricher/internal/host"
	"github.com/result-enricher/result-enricher/internal/isolate"
)

// binDir is CNI_PATH, with cnitool besides the plugins.
var binDir string

func TestMain(m *testing.M) {
	os.Exit(isolate.TestMain(func(dir string) error {
		if err := binaries.Build(dir,
			binaries.Cnitool, binaries.CalicoShaped, binaries.HostLocal, binaries.Bridge, binaries.Macvlan, binaries.PTP,
			binaries.Bandwidth, binaries.Portmap, binaries.Tuning,
		); err != nil {
			return err
		}
		return binaries.BuildPlugin(dir)
	}, func(dir string) int {
		binDir = dir
		return m.Run()
	}))
}

func TestChain(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "real chains")
}

var _ = host.Watch(reportMissing)
