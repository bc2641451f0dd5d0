// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"golang.org/x/sys/unix"

	"github.com/result-enricher/result-enricher/e2e/cluster/internal/machine"
)

// tempDir makes a directory that is removed at the end of the running Ginkgo
// node, with what components have mounted in it and did not unmount.
func tempDir(name string) string {
	ginkgo.GinkgoHelper()
	dir, err := os.MkdirTemp(machine.Dir(), name+"-")
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	ginkgo.DeferCleanup(func() error {
		return errors.Join(unmountBelow(dir), os.RemoveAll(dir))
	})
	return dir
}

// unmountBelow undoes all mounts in a directory, the last one first.
func unmountBelow(dir string) error {
	mounts, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("list mounts: %w", err)
	}
	defer mounts.Close()
	var points []string
	for lines := bufio.NewScanner(mounts); lines.Scan(); {
		// The fifth field is the mount point; temporary directories have no characters that are escaped.
		if fields := strings.Fields(lines.Text()); len(fields) > 4 && strings.HasPrefix(fields[4], dir+"/") {
			points = append(points, fields[4])
		}
	}
	var failures []error
	for _, point := range slices.Backward(points) {
		if err := unix.Unmount(point, unix.MNT_DETACH); err != nil {
			failures = append(failures, fmt.Errorf("unmount %s: %w", point, err))
		}
	}
	return errors.Join(failures...)
}
