// SPDX-License-Identifier: Apache-2.0

package swap_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/enrichctl/internal/swap"
)

func lock(dir string) *swap.Dir {
	GinkgoHelper()
	d, err := swap.Lock(context.Background(), dir)
	Expect(err).NotTo(HaveOccurred())
	return d
}

var _ = Describe("Lock", func() {
	It("is held by one at a time", func() {
		dir := GinkgoT().TempDir()
		first := lock(dir)
		got := make(chan *swap.Dir)
		go func() {
			defer GinkgoRecover()
			got <- lock(dir)
		}()
		Consistently(got, "100ms").ShouldNot(Receive())
		first.Unlock()
		var second *swap.Dir
		Eventually(got).Should(Receive(&second))
		second.Unlock()
	})

	It("is given up when the wait is ended, and says what it waited for", func() {
		dir := GinkgoT().TempDir()
		held := lock(dir)
		defer held.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
		defer cancel()
		_, err := swap.Lock(ctx, dir)
		Expect(err).To(MatchError(context.DeadlineExceeded))
		Expect(err).To(MatchError(ContainSubstring(dir)))
	})

	It("is one on the directory that the path leads to in the end", func() {
		parent := GinkgoT().TempDir()
		dir := filepath.Join(parent, "net.d")
		Expect(os.Mkdir(dir, 0o755)).To(Succeed())
		first := lock(dir)
		got := make(chan *swap.Dir)
		go func() {
			defer GinkgoRecover()
			got <- lock(dir)
		}()
		Consistently(got, "50ms").ShouldNot(Receive())
		Expect(os.Rename(dir, dir+".old")).To(Succeed())
		Expect(os.Mkdir(dir, 0o755)).To(Succeed())
		var second *swap.Dir
		Eventually(got).Should(Receive(&second))
		defer second.Unlock()
		first.Unlock()
		write(filepath.Join(dir, "a.result-enricher-tmp-0123456789abcdef"), "")
		Expect(second.Sweep()).To(Succeed())
		Expect(names(dir)).To(BeEmpty())
	})

	It("keeps twelve writers of one file apart", func() {
		path := target(GinkgoT().TempDir())
		write(path, "0")
		var all sync.WaitGroup
		for range 12 {
			all.Go(func() {
				defer GinkgoRecover()
				for range 5 {
					replace(path, func(old []byte) ([]byte, error) {
						n, err := strconv.Atoi(string(old))
						return []byte(strconv.Itoa(n + 1)), err
					})
				}
			})
		}
		all.Wait()
		Expect(read(path)).To(Equal("60"))
		Expect(names(filepath.Dir(path))).To(HaveLen(1))
	})
})

var _ = Describe("Sweep", func() {
	It("removes our temporaries and nothing that only looks like one", func() {
		dir := GinkgoT().TempDir()
		ours := "10-a.conflist.result-enricher-tmp-0123456789abcdef"
		others := []string{
			"10-a.conflist", "10-a.conflist.tmp", ".result-enricher-tmp-0123456789abcdef",
			"a.result-enricher-tmp-0123", "a.result-enricher-tmp-0123456789abcdef.conf",
		}
		for _, name := range append(others, ours) {
			write(filepath.Join(dir, name), "")
		}
		Expect(os.Symlink("x", filepath.Join(dir, "l.result-enricher-tmp-0123456789abcdef"))).To(Succeed())
		folder := "d.result-enricher-tmp-0123456789abcdef"
		Expect(os.Mkdir(filepath.Join(dir, folder), 0o755)).To(Succeed())
		Expect(swap.HasTemps(dir)).To(BeTrue())
		d := lock(dir)
		defer d.Unlock()
		Expect(d.Sweep()).To(Succeed())
		Expect(names(dir)).To(ConsistOf(append(others, folder)))
	})
})

var _ = Describe("Place", func() {
	var dir string
	var d *swap.Dir
	content := func(text string) func(io.Writer) error {
		return func(w io.Writer) error {
			_, err := io.Copy(w, bytes.NewReader([]byte(text)))
			return err
		}
	}
	fine := func(string) error { return nil }

	BeforeEach(func() {
		dir = GinkgoT().TempDir()
		d = lock(dir)
		DeferCleanup(d.Unlock)
	})

	It("checks the file under another name before it gets its own", func() {
		write(filepath.Join(dir, "plugin"), "old")
		var seen string
		Expect(d.Place("plugin", 0o755, content("new"), func(path string) error {
			seen = read(path)
			Expect(swap.IsTemp(filepath.Base(path))).To(BeTrue())
			Expect(inode(path).Mode().Perm()).To(Equal(os.FileMode(0o755)))
			Expect(read(filepath.Join(dir, "plugin"))).To(Equal("old"))
			return nil
		})).To(Succeed())
		Expect(seen).To(Equal("new"))
		Expect(read(filepath.Join(dir, "plugin"))).To(Equal("new"))
		Expect(names(dir)).To(ConsistOf("plugin"))
	})

	It("leaves what was there when writing or the check fails", func() {
		write(filepath.Join(dir, "plugin"), "old")
		bad := errors.New("bad")
		Expect(d.Place("plugin", 0o755, func(io.Writer) error { return bad }, fine)).To(MatchError(bad))
		Expect(d.Place("plugin", 0o755, content("new"), func(string) error { return bad })).To(MatchError(bad))
		Expect(read(filepath.Join(dir, "plugin"))).To(Equal("old"))
		Expect(names(dir)).To(ConsistOf("plugin"))
	})

	It("replaces a link by the file", func() {
		Expect(os.Symlink("/nowhere", filepath.Join(dir, "plugin"))).To(Succeed())
		Expect(d.Place("plugin", 0o755, content("new"), fine)).To(Succeed())
		Expect(inode(filepath.Join(dir, "plugin")).Mode().IsRegular()).To(BeTrue())
		Expect(d.Remove("plugin")).To(Succeed())
		Expect(names(dir)).To(BeEmpty())
	})
})
