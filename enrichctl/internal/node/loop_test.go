// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
)

// worker counts passes and answers what it is told to.
type worker struct {
	dirs   []string
	passes atomic.Int64
	answer atomic.Pointer[Outcome]
}

func (w *worker) Pass(context.Context) Outcome {
	w.passes.Add(1)
	if answer := w.answer.Load(); answer != nil {
		return *answer
	}
	return Outcome{Done: true}
}
func (w *worker) Watch() []string                              { return w.dirs }
func (w *worker) Follow(context.Context) (time.Duration, bool) { return 0, false }

var _ = Describe("Loop", func() {
	var m *machine
	var w *worker
	var loop *Loop

	// start runs the loop until the spec ends and gives what it returns.
	start := func() chan error {
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		var done sync.WaitGroup
		done.Go(func() {
			_, err := loop.Run(ctx)
			ended <- err
		})
		DeferCleanup(func() {
			cancel()
			done.Wait()
		})
		return ended
	}
	// waiting reports whether the loop has set its alarms for the next pass.
	waiting := func() bool {
		m.clock.mu.Lock()
		defer m.clock.mu.Unlock()
		return len(m.clock.alarms) > 0
	}

	BeforeEach(func() {
		m = newMachine()
		w = &worker{dirs: []string{m.conf}}
		loop = &Loop{Worker: w, Log: m.logger(), Clock: m.clock, ConfDirs: []string{m.conf}}
	})

	It("makes a pass at the start, and ends without an error when it is told to", func() {
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error)
		go func() {
			_, err := loop.Run(ctx)
			ended <- err
		}()
		Eventually(w.passes.Load).Should(BeEquivalentTo(1))
		cancel()
		Eventually(ended).Should(Receive(BeNil()))
	})

	It("makes a pass now and then though nothing happens", func() {
		start()
		for n := range int64(3) {
			Eventually(w.passes.Load).Should(BeEquivalentTo(n + 1))
			Eventually(waiting).Should(BeTrue())
			m.clock.advance(period)
		}
	})

	It("makes the next pass when the last one asked for it", func() {
		w.answer.Store(&Outcome{Again: 7 * time.Second})
		start()
		Eventually(waiting).Should(BeTrue())
		m.clock.advance(6 * time.Second)
		Consistently(w.passes.Load, "50ms").Should(BeEquivalentTo(1))
		m.clock.advance(time.Second)
		Eventually(w.passes.Load).Should(BeEquivalentTo(2))
	})

	It("takes changes that come together for one", func() {
		start()
		Eventually(waiting).Should(BeTrue())
		for _, name := range []string{"a", "b", "c"} {
			m.has(name, "")
		}
		Consistently(w.passes.Load, "50ms").Should(BeEquivalentTo(1))
		m.clock.advance(settle)
		Eventually(w.passes.Load).Should(BeEquivalentTo(2))
	})

	It("hears nothing of our own temporaries", func() {
		start()
		Eventually(waiting).Should(BeTrue())
		m.has("a.result-enricher-tmp-0123456789abcdef", "")
		Consistently(func() int64 {
			m.clock.advance(settle)
			return w.passes.Load()
		}, "100ms").Should(BeEquivalentTo(1))
	})

	It("ends with what is fatal", func() {
		fatal := errors.New("fatal")
		w.answer.Store(&Outcome{Fatal: fatal})
		Eventually(start()).Should(Receive(MatchError(fatal)))
	})

	It("ends when nothing is left to do, if that is asked for", func() {
		loop.UntilDone = true
		w.answer.Store(&Outcome{Again: time.Second})
		ended := start()
		Eventually(waiting).Should(BeTrue())
		Consistently(ended, "50ms").ShouldNot(Receive())
		w.answer.Store(nil)
		m.clock.advance(time.Second)
		Eventually(ended).Should(Receive(BeNil()))
	})

	It("tells a problem when it begins, and when all is well again", func() {
		w.answer.Store(&Outcome{Problems: []*Problem{{Code: "json-invalid", Message: "half a file"}}})
		start()
		Eventually(m.log).Should(gbytes.Say("half a file"))
		Eventually(waiting).Should(BeTrue())
		m.clock.advance(period)
		Eventually(w.passes.Load).Should(BeEquivalentTo(2))
		w.answer.Store(nil)
		Eventually(waiting).Should(BeTrue())
		m.clock.advance(period)
		Eventually(m.log).Should(gbytes.Say("all is well again"))
		Expect(string(m.log.Contents())).To(ContainSubstring("half a file"))
		Expect(m.log).NotTo(gbytes.Say("half a file"))
	})

	It("ends when the configuration directory has gone and does not come back", func() {
		ended := start()
		Eventually(waiting).Should(BeTrue())
		Expect(os.Remove(m.conf)).To(Succeed())
		Eventually(func() error {
			m.clock.advance(blindPeriod)
			select {
			case err := <-ended:
				return err
			default:
				return nil
			}
		}).Should(MatchError(ErrGone))
	})
})

var _ = Describe("watchset", func() {
	var m *machine
	var w *watchset
	BeforeEach(func() {
		m = newMachine()
		w = newWatchset(m.logger())
		DeferCleanup(w.close)
	})

	// hears reports whether what is done causes an event that matters.
	hears := func(do func()) bool {
		GinkgoHelper()
		for drained := false; !drained; {
			select {
			case <-w.events():
			case <-time.After(20 * time.Millisecond):
				drained = true
			}
		}
		do()
		heard := make(chan bool, 1)
		deadline := time.After(200 * time.Millisecond)
		go func() {
			for {
				select {
				case event := <-w.events():
					if w.matters(event) {
						heard <- true
						return
					}
				case <-deadline:
					heard <- false
					return
				}
			}
		}()
		var result bool
		Eventually(heard).Should(Receive(&result))
		return result
	}

	It("hears of changes in the directory, and not of its neighbours", func() {
		w.arm([]string{m.conf})
		Expect(hears(func() { m.has("a", "") })).To(BeTrue())
		Expect(hears(func() { m.write(filepath.Dir(m.conf), "neighbour", "") })).To(BeFalse())
	})

	It("watches the directory that has taken the place of another", func() {
		w.arm([]string{m.conf})
		Expect(hears(func() {
			Expect(os.Rename(m.conf, m.conf+".old")).To(Succeed())
			Expect(os.Mkdir(m.conf, 0o755)).To(Succeed())
		})).To(BeTrue())
		w.arm([]string{m.conf})
		Expect(hears(func() { m.has("a", "") })).To(BeTrue())
	})

	It("watches a directory again that went away and came back between two passes", func() {
		w.arm([]string{m.conf})
		Expect(os.Rename(m.conf, m.conf+".old")).To(Succeed())
		Expect(os.Rename(m.conf+".old", m.conf)).To(Succeed())
		Eventually(func() []string {
			select {
			case <-w.events():
			default:
			}
			return w.fs.WatchList()
		}).ShouldNot(ContainElement(m.conf))
		w.arm([]string{m.conf})
		Expect(hears(func() { m.has("a", "") })).To(BeTrue())
	})

	It("hears of a directory that comes to be", func() {
		Expect(os.Remove(m.conf)).To(Succeed())
		w.arm([]string{m.conf})
		Expect(hears(func() { Expect(os.Mkdir(m.conf, 0o755)).To(Succeed()) })).To(BeTrue())
	})

	It("hears of a link that is turned to another directory", func() {
		other := GinkgoT().TempDir()
		link := filepath.Join(filepath.Dir(m.conf), "link")
		Expect(os.Symlink(m.conf, link)).To(Succeed())
		w.arm([]string{link})
		Expect(hears(func() { m.has("a", "") })).To(BeTrue())
		Expect(hears(func() {
			Expect(os.Symlink(other, link+".new")).To(Succeed())
			Expect(os.Rename(link+".new", link)).To(Succeed())
		})).To(BeTrue())
		w.arm([]string{link})
		Expect(hears(func() { m.write(other, "a", "") })).To(BeTrue())
		Expect(hears(func() { m.has("b", "") })).To(BeFalse(), "the former directory is of no interest any more")
	})

	It("starts afresh when the watcher has failed", func() {
		w.arm([]string{m.conf})
		Expect(w.complete()).To(BeTrue())
		w.reopen()
		w.arm([]string{m.conf})
		Expect(hears(func() { m.has("a", "") })).To(BeTrue())
	})

	It("knows whose events matter", func() {
		w.arm([]string{m.conf})
		Expect(w.matters(fsnotify.Event{Name: filepath.Join(m.conf, "x")})).To(BeTrue())
		Expect(w.matters(fsnotify.Event{Name: m.conf})).To(BeTrue())
		Expect(w.matters(fsnotify.Event{Name: m.bin})).To(BeFalse())
	})
})
