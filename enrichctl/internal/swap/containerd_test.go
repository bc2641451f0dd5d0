// SPDX-License-Identifier: Apache-2.0

package swap_test

import (
	"os"
	"sync"

	"github.com/fsnotify/fsnotify"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// containerd stands for the runtime: it reads the conflist again on Write, Rename and Remove,
// and on nothing else (cni_conf_syncer.go).
type containerd struct {
	mu      sync.Mutex
	content string
}

func newContainerd(dir string) *containerd {
	GinkgoHelper()
	watcher, err := fsnotify.NewWatcher()
	Expect(err).NotTo(HaveOccurred())
	Expect(watcher.Add(dir)).To(Succeed())
	c := &containerd{}
	var done sync.WaitGroup
	done.Go(func() {
		for event := range watcher.Events {
			if !event.Has(fsnotify.Write) && !event.Has(fsnotify.Rename) && !event.Has(fsnotify.Remove) {
				continue
			}
			data, err := os.ReadFile(target(dir))
			c.mu.Lock()
			c.content = string(data)
			if err != nil {
				c.content = err.Error()
			}
			c.mu.Unlock()
		}
	})
	DeferCleanup(func() {
		Expect(watcher.Close()).To(Succeed())
		done.Wait()
	})
	return c
}

func (c *containerd) loaded() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.content
}

var _ = Describe("A runtime that watches the directory", func() {
	It("notices every replacement", func() {
		dir := GinkgoT().TempDir()
		write(target(dir), "old")
		watcher := newContainerd(dir)
		for _, want := range []string{"one", "two", "three"} {
			replace(target(dir), func([]byte) ([]byte, error) { return []byte(want), nil })
			Eventually(watcher.loaded).Should(Equal(want))
		}
	})

	It("would not notice a file from another directory", func() {
		dir, other := GinkgoT().TempDir(), GinkgoT().TempDir()
		write(target(dir), "old")
		watcher := newContainerd(dir)
		write(target(other), "elsewhere")
		Expect(os.Rename(target(other), target(dir))).To(Succeed())
		Consistently(watcher.loaded, "200ms").Should(BeEmpty(), "the stand-in reacts to Create, which containerd does not")
	})
})
