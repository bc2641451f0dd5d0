// SPDX-License-Identifier: Apache-2.0

// Package hostpath gives the private machine empty directories at paths where the host may have
// something else or nothing, such as /etc/cni, so that manifests can be used as they are written.
//
// It mounts, in the mount namespace of package machine only: over the directory above an overlay that keeps showing what
// the host has there, in which the mount point can be made, and on that an ordinary directory of the run. All of it goes
// at the end of the Ginkgo node that asked for it.
package hostpath

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"golang.org/x/sys/unix"

	"github.com/result-enricher/result-enricher/e2e/cluster/internal/machine"
)

// Provide makes an empty directory at path, and below it those that are named. What is directly above path must exist.
func Provide(path string, below ...string) {
	ginkgo.GinkgoHelper()
	dir, err := os.MkdirTemp(machine.Dir(), "hostpath-")
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	// An overlay writes to a tmpfs, whatever the run's own directory is on: that may be an overlay itself.
	layers, own := filepath.Join(dir, "layers"), filepath.Join(dir, "own")
	var undo []func() error
	ginkgo.DeferCleanup(func() error {
		var failures []error
		for i := len(undo) - 1; i >= 0; i-- {
			failures = append(failures, undo[i]())
		}
		return errors.Join(append(failures, os.RemoveAll(dir))...)
	})
	mount := func(source, target, kind string, flags uintptr, data string) {
		ginkgo.GinkgoHelper()
		err := unix.Mount(source, target, kind, flags, data)
		gomega.Expect(err).NotTo(gomega.HaveOccurred(), "mount %s on %s", kind, target)
		undo = append(undo, func() error {
			if err := unix.Unmount(target, unix.MNT_DETACH); err != nil {
				return fmt.Errorf("unmount %s: %w", target, err)
			}
			return nil
		})
	}

	gomega.Expect(os.Mkdir(layers, 0o755)).To(gomega.Succeed())
	gomega.Expect(os.Mkdir(own, 0o755)).To(gomega.Succeed())
	mount("tmpfs", layers, "tmpfs", 0, "mode=0755")
	upper, work := filepath.Join(layers, "upper"), filepath.Join(layers, "work")
	gomega.Expect(os.Mkdir(upper, 0o755)).To(gomega.Succeed())
	gomega.Expect(os.Mkdir(work, 0o755)).To(gomega.Succeed())
	parent := filepath.Dir(path)
	mount("overlay", parent, "overlay", 0, fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", parent, upper, work))
	gomega.Expect(os.MkdirAll(path, 0o755)).To(gomega.Succeed())
	mount(own, path, "", unix.MS_BIND, "")
	for _, name := range below {
		gomega.Expect(os.Mkdir(filepath.Join(path, name), 0o755)).To(gomega.Succeed())
	}
}
