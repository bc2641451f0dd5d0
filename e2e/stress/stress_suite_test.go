// SPDX-License-Identifier: Apache-2.0

// Package stress changes a pod's network namespace in a loop while the plugin's binary runs ADD in it: links that are
// replaced, renamed and altered, namespaces that go and come, lists that change under the reader. It has only tests.
//
// Every ADD has to end in the bytes of prevResult with a record that says why, or in a Result that was true at one
// moment of the ADD; under the policy "fail" in a CNI error instead of the former. What is true is known because every
// link of the namespace carries its generation in its mac and in its mtu.
//
// RESULT_ENRICHER_STRESS_ADDS is the number of ADDs of each spec, 300 when it is not set.
package stress

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/e2e/internal/binaries"
	"github.com/result-enricher/result-enricher/internal/host"
	"github.com/result-enricher/result-enricher/internal/isolate"
)

// binary is the plugin.
var binary string

// adds is the number of ADDs of a spec.
var adds = 300

var survey host.Survey

func TestMain(m *testing.M) {
	os.Exit(isolate.TestMain(binaries.BuildPlugin, func(dir string) int {
		binary = filepath.Join(dir, "result-enricher")
		if said, ok := os.LookupEnv("RESULT_ENRICHER_STRESS_ADDS"); ok {
			var err error
			if adds, err = strconv.Atoi(said); err != nil || adds < 100 {
				fmt.Fprintf(os.Stderr, "RESULT_ENRICHER_STRESS_ADDS must be a number from 100 on, not %q\n", said)
				return 1
			}
		}
		return m.Run()
	}))
}

func TestStress(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "changes while ADD runs")
}

var _ = BeforeSuite(func() {
	var err error
	survey, err = host.Begin()
	Expect(err).NotTo(HaveOccurred())
})

var _ = AfterSuite(func() {
	By("looking for links, namespaces, state files and processes that were left behind")
	Expect(survey.Leftovers()).To(BeEmpty())
})
