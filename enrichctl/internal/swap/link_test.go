// SPDX-License-Identifier: Apache-2.0

package swap_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/enrichctl/internal/swap"
)

var _ = Describe("A conflist that is a symbolic link", func() {
	var dir, realDir, path, file string

	BeforeEach(func() {
		dir, realDir = GinkgoT().TempDir(), GinkgoT().TempDir()
		path, file = target(dir), filepath.Join(realDir, "list")
		write(file, "old")
	})

	It("stays one: the file behind it is replaced, and an equal link takes its place", func() {
		Expect(os.Symlink(file, path)).To(Succeed())
		before := inode(path)
		watcher := newContainerd(dir)
		replace(path, appendX)
		Expect(os.Readlink(path)).To(Equal(file))
		Expect(read(file)).To(Equal("oldx"))
		Expect(inode(file).Mode().IsRegular()).To(BeTrue())
		Expect(os.SameFile(before, inode(path))).To(BeFalse(), "the link is a new one")
		Eventually(watcher.loaded).Should(Equal("oldx"))
		Expect(names(dir)).To(HaveLen(1))
		Expect(names(realDir)).To(HaveLen(1))
	})

	It("is followed through relative links and further links", func() {
		middle := filepath.Join(dir, "middle")
		Expect(os.Symlink("middle", path)).To(Succeed())
		relative, err := filepath.Rel(dir, file)
		Expect(err).NotTo(HaveOccurred())
		Expect(os.Symlink(relative, middle)).To(Succeed())
		route, err := swap.Resolve(path)
		Expect(err).NotTo(HaveOccurred())
		Expect(route.Links).To(Equal([]string{path, middle}))
		Expect(route.Dirs()).To(Equal([]string{dir, dir, realDir}))
		replace(path, appendX)
		Expect(read(file)).To(Equal("oldx"))
		Expect(os.Readlink(path)).To(Equal("middle"))
	})

	It("is relative to its real directory when the path to it leads through a link", func() {
		alias := filepath.Join(GinkgoT().TempDir(), "alias")
		Expect(os.Symlink(dir, alias)).To(Succeed())
		relative, err := filepath.Rel(dir, file)
		Expect(err).NotTo(HaveOccurred())
		Expect(os.Symlink(relative, path)).To(Succeed())
		replace(filepath.Join(alias, filepath.Base(path)), appendX)
		Expect(read(file)).To(Equal("oldx"))
	})

	It("is refused when it leads to nothing, with the directory that would have to be there", func() {
		Expect(os.Symlink("/nowhere/cni/list", path)).To(Succeed())
		_, err := swap.File(context.Background(), path, appendX)
		var link *swap.LinkError
		Expect(errors.As(err, &link)).To(BeTrue())
		Expect(link.Mount()).To(Equal("/nowhere/cni"))
		Expect(err).To(MatchError(os.ErrNotExist))
		Expect(err).To(MatchError(ContainSubstring("mount the directory /nowhere/cni")))
	})

	It("is refused when it leads in circles", func() {
		Expect(os.Symlink(filepath.Base(path), path)).To(Succeed())
		_, err := swap.Read(path)
		Expect(err).To(HaveOccurred())
	})

	It("needs no second lock when the link and the file are in one directory", func() {
		write(filepath.Join(dir, "list"), "old")
		Expect(os.Symlink("list", path)).To(Succeed())
		replace(path, appendX)
		Expect(read(filepath.Join(dir, "list"))).To(Equal("oldx"))
		Expect(names(dir)).To(ConsistOf("list", filepath.Base(path)))
	})
})
