// SPDX-License-Identifier: Apache-2.0

// Package consumers holds the plugin to its promise that no consumer is worse off with it than without: Results from the
// field go through a real chain, with result-enricher and without, and what comes out goes through the consumers' own
// code. Those are go-cni (containerd, Nomad, nerdctl), the network-attachment-definition-client (multus) and the
// Firecracker SDK. The package has only tests.
//
// The Results are those of enrich/testdata. For each of them a pod's namespace is made that it can be about.
package consumers

import (
	"os"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/e2e/internal/binaries"
	"github.com/result-enricher/result-enricher/internal/host"
	"github.com/result-enricher/result-enricher/internal/isolate"
)

// binDir is CNI_PATH.
var binDir string

func TestMain(m *testing.M) {
	os.Exit(isolate.TestMain(func(dir string) error {
		if err := binaries.Build(dir, binaries.CalicoShaped); err != nil {
			return err
		}
		return binaries.BuildPlugin(dir)
	}, func(dir string) int {
		binDir = dir
		return m.Run()
	}))
}

func TestConsumers(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "the consumers of a Result")
}

var _ = host.Watch()
