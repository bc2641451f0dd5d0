// SPDX-License-Identifier: Apache-2.0

package swap

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Dir is a directory that is locked against every other enrichctl. All file
// operations go through its descriptor: when the path leads to another directory
// by now, they still hit the one that is locked.
type Dir struct {
	// Path is how the directory was named.
	Path string
	f    *os.File
}

// Longest pause between two attempts to get a lock. Attempts instead of a
// blocking flock, so that a signal ends the wait.
const maxLockPause = 50 * time.Millisecond

// maxLockWait bounds the wait: holders keep a lock for milliseconds, unless they are stuck.
const maxLockWait = 30 * time.Second

// Lock waits for flock on the directory, at most for half a minute. A directory that is
// replaced during the wait is opened again.
func Lock(ctx context.Context, path string) (*Dir, error) {
	ctx, cancel := context.WithTimeout(ctx, maxLockWait)
	defer cancel()
	pause := time.Millisecond
	for {
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("open directory: %w", err)
		}
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil && sameDirectory(f, path) {
			return &Dir{Path: path, f: f}, nil
		}
		f.Close()
		if err != nil && !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return nil, fmt.Errorf("lock directory %s: %w", path, err)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the lock on directory %s, which another process holds: %w", path, ctx.Err())
		case <-time.After(pause):
		}
		pause = min(2*pause, maxLockPause)
	}
}

func sameDirectory(f *os.File, path string) bool {
	held, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(held, named)
}

// Unlock gives the lock back. The kernel does the same when the process dies.
func (d *Dir) Unlock() { d.f.Close() }

func (d *Dir) fd() int { return int(d.f.Fd()) }

// sync makes renames in the directory durable.
func (d *Dir) sync() error {
	if err := d.f.Sync(); err != nil {
		return fmt.Errorf("sync directory %s: %w", d.Path, err)
	}
	return nil
}

func (d *Dir) remove(name string) error {
	if err := unix.Unlinkat(d.fd(), name, 0); err != nil {
		return &os.PathError{Op: "remove", Path: d.join(name), Err: err}
	}
	return nil
}

func (d *Dir) rename(from, to string) error {
	if err := unix.Renameat(d.fd(), from, d.fd(), to); err != nil {
		return &os.LinkError{Op: "rename", Old: d.join(from), New: d.join(to), Err: err}
	}
	return nil
}

func (d *Dir) join(name string) string { return d.Path + "/" + name }
