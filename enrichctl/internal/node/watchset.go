// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"

	"github.com/fsnotify/fsnotify"
	"golang.org/x/sys/unix"

	"github.com/result-enricher/result-enricher/enrichctl/internal/swap"
)

// watchset holds inotify watches on directories, never on files: a watch on a file is
// dead after one rename. It follows the paths: when one leads to another directory, that
// one is watched.
type watchset struct {
	log *slog.Logger
	// fs is nil without inotify.
	fs    *fsnotify.Watcher
	armed map[string]inode
	// names are the entries that matter in directories that are watched only because a
	// path leads through them; nil stands for all.
	names map[string]map[string]bool
	// failed are the directories that could not be watched, so that it is said once.
	failed map[string]bool
}

type inode struct{ dev, ino uint64 }

func newWatchset(log *slog.Logger) *watchset {
	w := &watchset{log: log, failed: map[string]bool{}}
	w.open()
	return w
}

func (w *watchset) open() {
	fs, err := fsnotify.NewWatcher()
	if err != nil {
		w.sayOnce("inotify", "no inotify: changes are noticed by looking every few seconds", err)
		return
	}
	w.fs, w.armed = fs, map[string]inode{}
}

// close gives all watches back.
func (w *watchset) close() {
	if w.fs != nil {
		// Nothing can be done about watches that do not go; the process ends.
		_ = w.fs.Close()
	}
}

// reopen starts afresh after the watcher has failed.
func (w *watchset) reopen() {
	w.close()
	w.fs = nil
	w.open()
}

// complete reports whether everything that was asked for is watched.
func (w *watchset) complete() bool { return w.fs != nil && len(w.failed) == 0 }

// arm watches the directories, everything their paths lead through that is a link, and their
// parents. Watches that are no longer asked for are given back.
func (w *watchset) arm(dirs []string) {
	if w.fs == nil {
		if w.open(); w.fs == nil {
			return
		}
		delete(w.failed, "inotify")
	}
	w.names = map[string]map[string]bool{}
	for _, dir := range dirs {
		w.want(dir)
	}
	alive := map[string]bool{}
	for _, path := range w.fs.WatchList() {
		alive[path] = true
	}
	for path := range w.armed {
		if _, wanted := w.names[path]; !wanted {
			w.drop(path)
		}
	}
	for path := range w.names {
		w.add(path, alive[path])
	}
}

// want notes a directory and the places where its path can change.
func (w *watchset) want(dir string) {
	route, err := swap.Resolve(dir)
	for _, link := range route.Links {
		w.wantName(filepath.Dir(link), filepath.Base(link))
	}
	w.wantName(filepath.Dir(route.Real), filepath.Base(route.Real))
	if err != nil {
		return // not there yet: its parent tells when it comes
	}
	if physical, err := filepath.EvalSymlinks(route.Real); err == nil {
		w.names[physical] = nil
	}
}

func (w *watchset) wantName(dir, name string) {
	physical, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return
	}
	names, known := w.names[physical]
	if known && names == nil {
		return
	}
	if !known {
		names = map[string]bool{}
		w.names[physical] = names
	}
	names[name] = true
}

// add arms one watch, again when its directory has been replaced or the kernel has
// given it up.
func (w *watchset) add(path string, alive bool) {
	var stat unix.Stat_t
	if err := unix.Stat(path, &stat); err != nil {
		w.drop(path)
		return
	}
	id := inode{stat.Dev, stat.Ino}
	if alive && w.armed[path] == id {
		return
	}
	w.drop(path)
	if err := w.fs.Add(path); err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			w.sayOnce(path, "cannot watch a directory: changes there are noticed by looking every few seconds", err)
		}
		return
	}
	delete(w.failed, path)
	w.armed[path] = id
}

func (w *watchset) drop(path string) {
	if _, armed := w.armed[path]; !armed {
		return
	}
	delete(w.armed, path)
	// The watch may have gone with its directory.
	if err := w.fs.Remove(path); err != nil && !errors.Is(err, fsnotify.ErrNonExistentWatch) {
		w.log.Debug("cannot give back a watch", "dir", path, "error", err)
	}
}

func (w *watchset) sayOnce(what, message string, err error) {
	if !w.failed[what] {
		w.failed[what] = true
		w.log.Warn(message, "dir", what, "error", err, "cure", "raise fs.inotify.max_user_instances and max_user_watches")
	}
}

// matters tells events that call for a pass from those of our own temporaries and of
// strangers beside a directory.
func (w *watchset) matters(event fsnotify.Event) bool {
	name := filepath.Base(event.Name)
	if swap.IsTemp(name) {
		return false
	}
	names, known := w.names[filepath.Dir(event.Name)]
	if _, self := w.names[event.Name]; self {
		return true
	}
	return known && (names == nil || names[name])
}

func (w *watchset) events() <-chan fsnotify.Event {
	if w.fs == nil {
		return nil
	}
	return w.fs.Events
}

func (w *watchset) errors() <-chan error {
	if w.fs == nil {
		return nil
	}
	return w.fs.Errors
}
