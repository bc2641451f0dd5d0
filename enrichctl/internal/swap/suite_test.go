// SPDX-License-Identifier: Apache-2.0

package swap_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/enrichctl/internal/swap"
)

func TestSwap(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "swap")
}

// appendX is an Edit that is done once.
func appendX(old []byte) ([]byte, error) {
	if len(old) > 0 && old[len(old)-1] == 'x' {
		return old, nil
	}
	return append(append([]byte{}, old...), 'x'), nil
}

func write(path, content string) {
	GinkgoHelper()
	Expect(os.WriteFile(path, []byte(content), 0o600)).To(Succeed())
}

func read(path string) string {
	GinkgoHelper()
	data, err := os.ReadFile(path)
	Expect(err).NotTo(HaveOccurred())
	return string(data)
}

func names(dir string) []string {
	GinkgoHelper()
	entries, err := os.ReadDir(dir)
	Expect(err).NotTo(HaveOccurred())
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// replace does one replacement that must work, and lets go of what it replaced.
func replace(path string, edit swap.Edit) *swap.Change {
	GinkgoHelper()
	change, err := swap.File(context.Background(), path, edit)
	Expect(err).NotTo(HaveOccurred())
	if change.Replaced != nil {
		DeferCleanup(change.Replaced.Close)
	}
	return change
}

func inode(path string) os.FileInfo {
	GinkgoHelper()
	info, err := os.Lstat(path)
	Expect(err).NotTo(HaveOccurred())
	return info
}

func target(dir string) string { return filepath.Join(dir, "10-primary.conflist") }
