// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// settle is how long a directory must be quiet before a pass: a primary writes in
	// several steps, and twice within milliseconds is common.
	settle = 20 * time.Millisecond
	// maxSettle bounds that where it is never quiet.
	maxSettle = 200 * time.Millisecond
	// period repeats the pass even if nothing was heard of.
	period = 30 * time.Second
	// blindPeriod does so without inotify.
	blindPeriod = 2 * time.Second
)

// Worker is what a Loop repeats: Installer or Remover.
type Worker interface {
	// Pass looks at the node and changes what is not as it should be.
	Pass(ctx context.Context) Outcome
	// Watch gives the directories in which a change calls for a Pass.
	Watch() []string
	// Follow looks after replaced files. It gives the time until it wants to be called
	// again, and false when there is no need.
	Follow(ctx context.Context) (time.Duration, bool)
}

// Loop keeps a node as a Worker wants it.
type Loop struct {
	Worker Worker
	Log    *slog.Logger
	Clock  Clock
	// Observe is told of every pass; may be nil.
	Observe func(Outcome)
	// UntilDone ends the loop with the first pass that leaves nothing to do.
	UntilDone bool

	// ConfDirs end the loop when they were there and have gone for good.
	ConfDirs []string

	// said are the problems of the last pass, which are not told twice.
	said map[string]bool
}

// Run repeats passes until ctx ends, which is not an error, or a pass is fatal. The
// watches are armed before each pass: what changes during a pass is seen, and the start
// is not a special case.
func (l *Loop) Run(ctx context.Context) (last Outcome, err error) {
	watches := newWatchset(l.Log)
	defer watches.close()
	seen := presence{}
	for {
		watches.arm(l.Worker.Watch())
		gone := seen.check(l.ConfDirs, l.Clock.Now())
		last = l.Worker.Pass(ctx)
		if ctx.Err() != nil {
			return last, nil
		}
		l.say(last)
		if l.Observe != nil {
			l.Observe(last)
		}
		if last.Fatal == nil {
			last.Fatal = gone
		}
		if last.Fatal != nil {
			return last, last.Fatal
		}
		if l.UntilDone && last.Done {
			return last, nil
		}
		if !l.wait(ctx, watches, last.Again) {
			return last, nil
		}
	}
}

// say logs what is new since the pass before, and that all is well again.
func (l *Loop) say(out Outcome) {
	now := map[string]bool{}
	for _, p := range out.Problems {
		if p.Code == CodeContended {
			continue // comes and goes with every write of a fight; Editor tells of it once
		}
		now[p.Error()] = true
		if !l.said[p.Error()] {
			l.Log.Warn(p.Message, "code", p.Code, "path", p.Path, "cure", p.Cure)
		}
	}
	if len(l.said) > 0 && len(now) == 0 && !out.Contended {
		l.Log.Info("all is well again")
	}
	l.said = now
}

// wait returns true when it is time for the next pass, false when ctx has ended.
func (l *Loop) wait(ctx context.Context, w *watchset, again time.Duration) bool {
	sleep := period
	if !w.complete() || !allExist(l.ConfDirs) {
		sleep = blindPeriod
	}
	if again > 0 {
		sleep = min(sleep, again)
	}
	due := l.Clock.After(sleep)
	follow := l.follow(ctx)
	var quiet, latest <-chan time.Time
	heard := func() {
		quiet = l.Clock.After(settle)
		if latest == nil {
			latest = l.Clock.After(maxSettle)
		}
	}
	for {
		select {
		case <-ctx.Done():
			return false
		case <-due:
			return true
		case <-quiet:
			return true
		case <-latest:
			return true
		case <-follow:
			follow = l.follow(ctx)
		case event, open := <-w.events():
			switch {
			case !open:
				w.reopen()
				return true
			case w.matters(event):
				heard()
			}
		case err, open := <-w.errors():
			if !open || !errors.Is(err, fsnotify.ErrEventOverflow) {
				l.Log.Warn("the watch has failed; starting it again", "error", err)
				w.reopen()
				return true
			}
			heard()
		}
	}
}

func allExist(paths []string) bool {
	for _, path := range paths {
		if !exists(path) {
			return false
		}
	}
	return true
}

// follow gives the channel that tells when to look at replaced files again; nil when there is
// none.
func (l *Loop) follow(ctx context.Context) <-chan time.Time {
	next, active := l.Worker.Follow(ctx)
	if !active {
		return nil
	}
	return l.Clock.After(next)
}
