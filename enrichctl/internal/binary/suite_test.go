// SPDX-License-Identifier: Apache-2.0

package binary_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
)

func TestBinary(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "binary")
}

// built is the real plugin.
var built string

var _ = BeforeSuite(func() {
	var err error
	built, err = gexec.Build("github.com/result-enricher/result-enricher/plugin/result-enricher", "-ldflags=-X main.version=v1.2.3")
	Expect(err).NotTo(HaveOccurred())
})

var _ = AfterSuite(gexec.CleanupBuildArtifacts)

// script writes a program that answers the same to everybody.
func script(path, stdout string, code int) {
	GinkgoHelper()
	text := fmt.Sprintf("#!/bin/sh\nprintf '%%s' '%s'\necho noise >&2\nexit %d\n", stdout, code)
	Expect(os.WriteFile(path, []byte(text), 0o755)).To(Succeed())
}

const answer = `{"cniVersion":"1.0.0","supportedVersions":["0.3.1","1.0.0"]}`

func inDir(dir string) string { return filepath.Join(dir, "result-enricher") }
