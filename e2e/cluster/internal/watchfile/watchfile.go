// SPDX-License-Identifier: Apache-2.0

// Package watchfile reads a conflist as often as it can, as a very busy multus would, and tells what it saw.
//
// It only reads. Whoever writes the file is expected to replace it, so that a reader never finds half of it.
package watchfile

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/onsi/ginkgo/v2"
)

// interval is the time between two reads.
const interval = time.Millisecond

// Seen is what was seen of a file.
type Seen struct {
	// Reads is how often it was read.
	Reads int
	// With and Without count the reads that found the entry and that did not.
	With, Without int
	// Torn are the reasons why a read found no conflist at all.
	Torn []string
}

// Watch is a file that is being read.
type Watch struct {
	stop context.CancelFunc
	done chan struct{}
	seen Seen
}

// Start reads the file until Stop, or the end of the running Ginkgo node.
func Start(path string) *Watch {
	ctx, cancel := context.WithCancel(context.Background())
	w := &Watch{stop: cancel, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		for ctx.Err() == nil {
			w.seen.read(path)
			time.Sleep(interval)
		}
	}()
	ginkgo.DeferCleanup(func() { w.Stop() })
	return w
}

// Stop ends the reading.
func (w *Watch) Stop() Seen {
	w.stop()
	<-w.done
	return w.seen
}

func (s *Seen) read(path string) {
	s.Reads++
	enriched, err := Enriched(path)
	switch {
	case err != nil:
		s.Torn = append(s.Torn, err.Error())
	case enriched:
		s.With++
	default:
		s.Without++
	}
}

// Enriched reports whether the conflist has the plugin's entry behind another one.
func Enriched(path string) (bool, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return false, fmt.Errorf("read conflist: %w", err)
	}
	var list struct {
		Plugins []struct{ Type string }
	}
	if err := json.Unmarshal(content, &list); err != nil {
		return false, fmt.Errorf("decode conflist %q: %w", content, err)
	}
	for i, plugin := range list.Plugins {
		if plugin.Type == "result-enricher" && i > 0 {
			return true, nil
		}
	}
	return false, nil
}
