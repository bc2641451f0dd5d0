// SPDX-License-Identifier: Apache-2.0

package node

import (
	"bytes"
	"context"
	"log/slog"
	"time"

	"github.com/result-enricher/result-enricher/enrichctl/internal/swap"
)

// How long a replaced file must have been without writers and without news until it
// is let go: for one that has just opened the old name and not yet got the file, a
// busy machine may take a moment. settleQuiet is for a command that is waited for.
const (
	watchQuiet  = time.Second
	settleQuiet = 30 * time.Millisecond
	// blindQuiet counts where the kernel does not tell whether there are writers.
	blindQuiet = 2 * time.Second
)

// Pauses between two looks at a replaced file.
const (
	minPoll = 10 * time.Millisecond
	maxPoll = time.Second
)

// maxFollowed bounds the files kept open, for a fight with an agent that never closes
// its own.
const maxFollowed = 16

// followers take over what the owner of a conflist still writes into a file that we have
// replaced: it opened the file before, and believes to write the conflist.
type followers struct {
	log   *slog.Logger
	clock Clock
	// limit is that of all our writes to a file.
	limit func(path string) *limiter
	list  []*follower
}

type follower struct {
	replaced *swap.Replaced
	path     string
	// written is what we put in the place of the file. When the conflist says
	// something else, somebody has written it since, and that counts.
	written []byte
	edit    swap.Edit
	// pending are news that were not taken over: they are half of what the owner writes, or
	// (held) the back-off or an error stood in the way.
	pending []byte
	held    bool
	news    time.Time
	poll    time.Duration
	next    time.Time
}

func (f *followers) add(change *swap.Change, edit swap.Edit) {
	if len(f.list) == maxFollowed {
		f.list[0].replaced.Close()
		f.list = f.list[1:]
	}
	now := f.clock.Now()
	f.list = append(f.list, &follower{
		replaced: change.Replaced, path: change.Path, written: change.After, edit: edit,
		news: now, poll: minPoll, next: now,
	})
}

// poll looks at every file that is due. It gives the time until the next one is, and
// whether there is any.
func (f *followers) poll(ctx context.Context, quiet time.Duration) (next time.Duration, active bool) {
	next = maxPoll
	now := f.clock.Now()
	// What is replaced during the walk is looked at next time.
	walk := f.list
	f.list = nil
	for _, one := range walk {
		if one.next.After(now) {
			f.list = append(f.list, one)
		} else if f.look(ctx, one, now, quiet) {
			one.next = now.Add(one.poll)
			f.list = append(f.list, one)
		} else {
			one.replaced.Close()
		}
	}
	for _, one := range f.list {
		next = min(next, max(0, one.next.Sub(now)))
	}
	return next, len(f.list) > 0
}

// look reports whether a file has to be followed further.
func (f *followers) look(ctx context.Context, one *follower, now time.Time, quiet time.Duration) bool {
	// Before the news: without writers, the news are the last ones.
	writers := one.replaced.Writers()
	content, isNew, err := one.replaced.News()
	if err != nil {
		f.log.Warn("cannot read the replaced file; what its owner still writes there is lost", "file", one.path, "error", err)
		return false
	}
	if isNew {
		one.news, one.poll, one.pending, one.held = now, minPoll, content, false
		return f.takeOver(ctx, one)
	}
	if one.held {
		return f.takeOver(ctx, one)
	}
	switch writers {
	case swap.SomeWriters:
		one.poll = min(2*one.poll, maxPoll)
		return true
	case swap.UnknownWriters:
		quiet = max(quiet, blindQuiet)
	case swap.NoWriters:
	}
	one.poll = min(2*one.poll, quiet)
	if now.Sub(one.news) < quiet {
		return true
	}
	if one.pending != nil {
		f.log.Warn("the owner left something in the replaced file that cannot be edited; the conflist keeps what it says", "file", one.path)
	}
	return false
}

// takeOver puts what the owner wrote into the conflist, edited. It reports whether
// more may come.
func (f *followers) takeOver(ctx context.Context, one *follower) bool {
	if _, err := one.edit(one.pending); err != nil {
		return true // the rest will come
	}
	limit := f.limit(one.path)
	if wait := limit.wait(f.clock.Now()); wait > 0 {
		one.held, one.poll = true, wait
		return true
	}
	content := one.pending
	one.pending, one.held = nil, false
	current := true
	change, err := swap.File(ctx, one.path, func(now []byte) ([]byte, error) {
		current = bytes.Equal(now, one.written)
		if !current {
			return now, nil
		}
		return one.edit(content)
	})
	switch {
	case err != nil && change == nil:
		f.log.Warn("cannot take over what the owner wrote into the replaced file; will try again", "file", one.path, "error", err)
		one.pending, one.held, one.poll = content, true, maxPoll
		return true
	case !current:
		f.log.Info("the conflist has been written anew; what went into the replaced file before is left there", "file", one.path)
		return false
	case change.Replaced == nil:
		return true
	case err != nil:
		f.log.Warn("took over what the owner wrote, but not durably", "file", one.path, "error", err)
	}
	limit.wrote(f.clock.Now())
	f.log.Info("took over what the owner wrote into the file that was replaced", "file", one.path)
	one.written = change.After
	f.add(change, one.edit)
	return true
}

// close lets go of every file, and says why when it had to be followed.
func (f *followers) close(reason string) {
	for _, one := range f.list {
		if one.replaced.Writers() == swap.SomeWriters {
			f.log.Warn(reason, "file", one.path)
		}
		one.replaced.Close()
	}
	f.list = nil
}
