// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/result-enricher/result-enricher/enrichctl/internal/swap"
)

// Outcome says how one pass over the node went.
type Outcome struct {
	// Done: the node is as it was asked for.
	Done bool
	// Present: the entry is in every target and the binary in every directory.
	Present bool
	// Problems are what stands in the way, and what is only worth knowing (Note).
	Problems []*Problem
	// Inserted counts the entries put in by this pass, Restored the binaries.
	Inserted, Restored int
	// Contended: another agent keeps undoing the change.
	Contended bool
	// Again is when to look again even if nothing changes; 0 leaves it to the period.
	Again time.Duration
	// Fatal ends a Loop: nothing that happens to this process's view of the node will help.
	Fatal error
}

func (o *Outcome) fail(p *Problem) {
	o.Problems = append(o.Problems, p)
	o.Done = o.Done && p.Note
}

// again asks for another pass after d.
func (o *Outcome) again(d time.Duration) {
	if o.Again == 0 || d < o.Again {
		o.Again = d
	}
}

// Err joins what stands in the way; nil when nothing does.
func (o *Outcome) Err() error {
	var errs []error
	for _, p := range o.Problems {
		if !p.Note {
			errs = append(errs, p)
		}
	}
	return errors.Join(errs...)
}

// ErrGone is returned when a directory was deleted for good under this process.
var ErrGone = errors.New("directory has been deleted")

// checkGone finds directories that are mounted here but deleted outside: their path still
// leads to them, and nothing will ever appear in them again. Some FUSE file systems count no
// links at all; a directory with something in it has not been deleted.
func checkGone(dirs []string) error {
	for _, dir := range dirs {
		var stat unix.Stat_t
		if err := unix.Stat(dir, &stat); err != nil || stat.Nlink > 0 {
			continue
		}
		// The kernel does not list a deleted directory.
		entries, err := os.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
			return fmt.Errorf("%w: %s is a deleted directory that is still mounted here; start again to mount the new one", ErrGone, dir)
		}
	}
	return nil
}

// goneAfter is how long a directory that was there may be missing. Whoever replaces one has it
// back sooner; after that it is better to start again than to wait for something that may have moved.
const goneAfter = 5 * time.Second

// presence remembers which directories were there, and since when they are missing: the zero
// time for those that are not.
type presence map[string]time.Time

// check returns ErrGone for a directory that was there and has been missing too long. One that never
// was is waited for.
func (p presence) check(dirs []string, now time.Time) error {
	for _, dir := range dirs {
		since, seen := p[dir]
		switch {
		case exists(dir):
			p[dir] = time.Time{}
		case seen && since.IsZero():
			p[dir] = now
		case seen && now.Sub(since) >= goneAfter:
			return fmt.Errorf("%w: %s was there and has been missing for %s; start again when it is back", ErrGone, dir, goneAfter)
		}
	}
	return nil
}

// exists reports whether a path leads anywhere.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// sweep removes what killed processes left in directories. One that cannot be swept cannot
// be written either, which whoever has to write it will say.
func sweep(ctx context.Context, dirs []string) error {
	var errs []error
	for _, dir := range dirs {
		if !swap.HasTemps(dir) {
			continue
		}
		d, err := swap.Lock(ctx, dir)
		if err == nil {
			err = d.Sweep()
			d.Unlock()
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
