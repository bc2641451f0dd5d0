// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"sync"

	"github.com/fsnotify/fsnotify"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// onEvents calls do for every event of a directory until the spec ends.
func onEvents(dir string, do func(fsnotify.Event)) {
	GinkgoHelper()
	watcher, err := fsnotify.NewWatcher()
	Expect(err).NotTo(HaveOccurred())
	Expect(watcher.Add(dir)).To(Succeed())
	var done sync.WaitGroup
	done.Go(func() {
		defer GinkgoRecover()
		for event := range watcher.Events {
			do(event)
		}
	})
	DeferCleanup(func() {
		Expect(watcher.Close()).To(Succeed())
		done.Wait()
	})
}

// containerd stands for the runtime: it reads the conflist again on Write, Rename and Remove, and
// on nothing else, as the real one does.
type containerd struct {
	mu      sync.Mutex
	content string
	gone    int
}

func newContainerd(l *lab) *containerd {
	GinkgoHelper()
	c := &containerd{content: read(l.list())}
	onEvents(l.conf, func(event fsnotify.Event) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if event.Name == l.list() && (event.Has(fsnotify.Rename) || event.Has(fsnotify.Remove)) {
			c.gone++
		}
		if event.Has(fsnotify.Write) || event.Has(fsnotify.Rename) || event.Has(fsnotify.Remove) {
			c.content = reader(l.list())()
		}
	})
	return c
}

// loaded is what it would use for the next pod.
func (c *containerd) loaded() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.content
}

// vanished counts how often the conflist's own name disappeared or moved.
func (c *containerd) vanished() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gone
}
