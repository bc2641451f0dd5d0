// SPDX-License-Identifier: Apache-2.0

package swap_test

import (
	"context"
	"errors"
	"os"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"

	"github.com/result-enricher/result-enricher/enrichctl/internal/swap"
)

var _ = Describe("File", func() {
	var dir, path string

	BeforeEach(func() {
		dir = GinkgoT().TempDir()
		path = target(dir)
		write(path, "old")
	})

	It("replaces the bytes and leaves nothing else", func() {
		change := replace(path, appendX)
		Expect(read(path)).To(Equal("oldx"))
		Expect(string(change.Before)).To(Equal("old"))
		Expect(string(change.After)).To(Equal("oldx"))
		Expect(names(dir)).To(ConsistOf("10-primary.conflist"))
	})

	It("does not touch a file that is as it should be", func() {
		replace(path, appendX)
		before := inode(path)
		change := replace(path, appendX)
		Expect(change.Replaced).To(BeNil())
		Expect(os.SameFile(before, inode(path))).To(BeTrue())
		Expect(inode(path).ModTime()).To(Equal(before.ModTime()))
	})

	It("leaves the file alone when the edit refuses, and hands the reason on", func() {
		refusal := errors.New("no")
		change, err := swap.File(context.Background(), path, func([]byte) ([]byte, error) { return nil, refusal })
		Expect(err).To(MatchError(refusal))
		Expect(change).To(BeNil())
		Expect(read(path)).To(Equal("old"))
		Expect(names(dir)).To(HaveLen(1))
	})

	It("keeps mode and extended attributes, but not those that describe the content", func() {
		Expect(os.Chmod(path, 0o604)).To(Succeed())
		Expect(unix.Setxattr(path, "user.note", []byte("kept"), 0)).To(Succeed())
		if os.Geteuid() == 0 {
			// cap_net_raw=ep in the form that the kernel stores
			capability := []byte{1, 0, 0, 2, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
			Expect(unix.Setxattr(path, "security.capability", capability, 0)).To(Succeed())
			digest := append([]byte{1}, make([]byte, 20)...) // the form of an IMA digest
			Expect(unix.Setxattr(path, "security.ima", digest, 0)).To(Succeed())
			Expect(unix.Setxattr(path, "trusted.note", []byte("kept too"), 0)).To(Succeed())
		}
		replace(path, appendX)
		Expect(inode(path).Mode().Perm()).To(Equal(os.FileMode(0o604)))
		value := make([]byte, 64)
		n, err := unix.Getxattr(path, "user.note", value)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(value[:n])).To(Equal("kept"))
		for _, name := range []string{"security.capability", "security.ima"} {
			_, err = unix.Getxattr(path, name, value)
			Expect(err).To(MatchError(unix.ENODATA), name)
		}
		if os.Geteuid() == 0 {
			n, err = unix.Getxattr(path, "trusted.note", value)
			Expect(err).NotTo(HaveOccurred())
			Expect(string(value[:n])).To(Equal("kept too"))
		}
	})

	It("keeps the owner and the set-id bits", func() {
		owner := os.Geteuid()
		if owner == 0 {
			owner = 4321
		}
		Expect(os.Chown(path, owner, os.Getegid())).To(Succeed())
		Expect(os.Chmod(path, 0o640|os.ModeSetgid)).To(Succeed())
		replace(path, appendX)
		Expect(inode(path).Sys().(*syscall.Stat_t).Uid).To(BeEquivalentTo(owner))
		Expect(inode(path).Mode()).To(Equal(0o640 | os.ModeSetgid))
	})

	It("starts over when the owner replaces the file in between", func() {
		calls := 0
		replace(path, func(old []byte) ([]byte, error) {
			if calls++; calls <= 2 {
				write(path+".new", "newer"+string(rune('0'+calls)))
				Expect(os.Rename(path+".new", path)).To(Succeed())
			}
			return appendX(old)
		})
		Expect(read(path)).To(Equal("newer2x"))
		Expect(calls).To(Equal(3))
		Expect(names(dir)).To(HaveLen(1))
	})

	It("starts over when the owner writes into the file in between, other bytes of the same length too", func() {
		calls := 0
		replace(path, func(old []byte) ([]byte, error) {
			if calls++; calls == 1 {
				write(path, "new")
			}
			return appendX(old)
		})
		Expect(read(path)).To(Equal("newx"))
	})

	It("gives up on a file that changes for ever, and leaves it to its owner", func() {
		n := 0
		_, err := swap.File(context.Background(), path, func(old []byte) ([]byte, error) {
			n++
			write(path, "turn "+string(rune('a'+n)))
			return appendX(old)
		})
		Expect(err).To(MatchError(swap.ErrBusy))
		Expect(read(path)).To(Equal("turn " + string(rune('a'+n))))
		Expect(names(dir)).To(HaveLen(1))
	})

	It("changes nothing once it is told to stop", func() {
		ctx, cancel := context.WithCancel(context.Background())
		_, err := swap.File(ctx, path, func(old []byte) ([]byte, error) {
			cancel()
			return appendX(old)
		})
		Expect(err).To(MatchError(context.Canceled))
		Expect(read(path)).To(Equal("old"))
		Expect(names(dir)).To(HaveLen(1))
	})

	It("refuses what is no regular file, and does not hang on a pipe", func() {
		pipe := target(GinkgoT().TempDir())
		Expect(unix.Mkfifo(pipe, 0o600)).To(Succeed())
		_, err := swap.File(context.Background(), pipe, appendX)
		Expect(err).To(MatchError(os.ErrInvalid))
		_, err = swap.Read(dir)
		Expect(err).To(MatchError(os.ErrInvalid))
	})

	It("refuses a file that is too large to be a conflist", func() {
		Expect(os.Truncate(path, 5<<20)).To(Succeed())
		_, err := swap.Read(path)
		Expect(err).To(MatchError(ContainSubstring("larger than")))
	})

	It("reports a file that is not there as such", func() {
		_, err := swap.File(context.Background(), path+"-none", appendX)
		Expect(err).To(MatchError(os.ErrNotExist))
	})
})
