// SPDX-License-Identifier: Apache-2.0

package attachment

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

func TestAttachment(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "attachment")
}

var _ = host.Watch()
