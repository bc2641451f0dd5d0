// SPDX-License-Identifier: Apache-2.0

package node

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/result-enricher/result-enricher/enrichctl/internal/conflist"
	"github.com/result-enricher/result-enricher/enrichctl/internal/diff"
	"github.com/result-enricher/result-enricher/enrichctl/internal/swap"
)

// Editor writes conflists, at most as often as a fight allows, and goes on reading what
// it replaced.
type Editor struct {
	Log   *slog.Logger
	Clock Clock
	// DryRun, when set, is called with a unified diff instead of writing.
	DryRun func(diff string)

	limiters  map[string]*limiter
	warned    map[string]bool
	followers followers
}

// NewEditor makes an Editor.
func NewEditor(log *slog.Logger, clock Clock) *Editor {
	e := &Editor{Log: log, Clock: clock, limiters: map[string]*limiter{}, warned: map[string]bool{}}
	e.followers = followers{log: log, clock: clock, limit: e.limiter}
	return e
}

// edited says what became of one file.
type edited struct {
	// wrote: the file was replaced.
	wrote bool
	// wait is the time until the next write is due, when one was held back.
	wait time.Duration
	// data are the bytes that are there now.
	data []byte
}

// edit brings a file to what the edit makes of it. Looking needs no lock; only when there is something
// to do, and always when a killed process left temporaries, the directory is locked.
func (e *Editor) edit(ctx context.Context, path, what string, edit swap.Edit) (edited, error) {
	old, err := swap.Read(path)
	if err != nil {
		return edited{}, err
	}
	wanted, err := edit(old)
	if err != nil || bytes.Equal(wanted, old) {
		return edited{data: old}, err
	}
	if e.DryRun != nil {
		e.DryRun(diff.Unified(path, old, wanted))
		return edited{data: wanted}, nil
	}
	limit := e.limiter(path)
	if wait := limit.wait(e.Clock.Now()); wait > 0 {
		e.warnOnce(path, old)
		return edited{wait: wait, data: old}, nil
	}
	change, err := swap.File(ctx, path, edit)
	if change == nil {
		return edited{}, err
	}
	if change.Replaced == nil { // somebody else was faster
		return edited{data: change.After}, nil
	}
	limit.wrote(e.Clock.Now())
	e.followers.add(change, edit)
	e.Log.Info(what, "file", path, "contended", limit.contended(e.Clock.Now()))
	return edited{wrote: true, data: change.After}, err
}

func (e *Editor) limiter(path string) *limiter {
	if e.limiters[path] == nil {
		e.limiters[path] = &limiter{}
	}
	l := e.limiters[path]
	if !l.contended(e.Clock.Now()) {
		e.warned[path] = false
	}
	return l
}

// contended reports whether somebody keeps undoing what is written to a file.
func (e *Editor) contended(path string) bool {
	return e.limiter(path).contended(e.Clock.Now())
}

// warnOnce names the fight when it begins, not at every event of it.
func (e *Editor) warnOnce(path string, data []byte) {
	if e.warned[path] {
		return
	}
	e.warned[path] = true
	problem := contendedProblem(path, data)
	e.Log.Warn(problem.Message, "file", path, "code", problem.Code, "cure", problem.Cure)
}

func contendedProblem(path string, data []byte) *Problem {
	var plugins []string
	if info, err := conflist.Inspect(data); err == nil {
		plugins = info.Plugins
	}
	return &Problem{
		Code: CodeContended, Path: path, Temporary: true,
		Message: fmt.Sprintf("another agent keeps undoing the change, %d times within a minute; from now on it is made once in %s", burst, pause),
		Cure:    advice(plugins),
	}
}

// Follow looks after what was replaced, for a Loop.
func (e *Editor) Follow(ctx context.Context) (time.Duration, bool) {
	return e.followers.poll(ctx, watchQuiet)
}

// Settle follows what was replaced until nobody has it open for writing any more, or
// ctx ends.
func (e *Editor) Settle(ctx context.Context) {
	for {
		next, active := e.followers.poll(ctx, settleQuiet)
		if !active {
			return
		}
		select {
		case <-ctx.Done():
			e.followers.close("somebody still has the replaced file open for writing; what is written there from now on is lost")
			return
		case <-e.Clock.After(next):
		}
	}
}

// removeEntries is the Edit that takes every entry of ours out.
func removeEntries(old []byte) ([]byte, error) {
	out, _, err := conflist.Remove(old)
	return out, err
}
