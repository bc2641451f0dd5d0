// SPDX-License-Identifier: Apache-2.0

// Package predictions holds package consumer against the consumers' own code: go-cni, the network-status code of multus,
// and Firecracker's vmconf, with every recorded Result and by fuzzing. It has only tests.
//
// The suite runs isolated, because vmconf looks into the namespace of the Result: there is one at the path of the
// recorded Results, with the tap that they name.
package predictions

import (
	"os"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/internal/host"
	"github.com/result-enricher/result-enricher/internal/isolate"
)

func TestMain(m *testing.M) {
	os.Exit(isolate.TestMain(func(string) error { return nil }, func(string) int { return m.Run() }))
}

func TestPredictions(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "the predictions")
}

var _ = host.Watch()
