// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"fmt"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// Sandbox is an open network namespace with a netlink socket in it. The
// namespace cannot vanish while it is open, its links can.
type Sandbox struct {
	path    string
	ns      netns.NsHandle
	id      fileID
	current bool
	reader  reader
	close   func()
}

// fileID tells namespace files apart: all of them are on one nsfs per kernel.
type fileID struct{ dev, ino uint64 }

// Open opens the namespace at path for as long as ctx allows its reads to
// take. The error is ErrNoNamespace, ErrNotNamespace or ErrNotPermitted where
// one of them is the cause.
func Open(ctx context.Context, path string) (*Sandbox, error) { return open(ctx, path, false) }

// OpenInInit is Open for a package initializer. The runtime runs those on the
// startup thread (package runtime, LockOSThread), so that the goroutine need not be
// locked to it: that would start another thread, from which the runtime makes those
// that must not inherit the namespace. A thread that it makes while this one is in
// the sandbox stays there, and so does this one when it cannot return. Neither
// matters to a process that opens no other socket and ends soon.
func OpenInInit(ctx context.Context, path string) (*Sandbox, error) { return open(ctx, path, true) }

func open(ctx context.Context, path string, inInit bool) (*Sandbox, error) {
	// O_NONBLOCK: a path that is a FIFO must not hold up a pod's start.
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open namespace %s: %w", path, classify(err))
	}
	s := &Sandbox{path: path, ns: netns.NsHandle(fd)}
	s.close = func() { unix.Close(fd) }
	if err := s.open(ctx, inInit); err != nil {
		s.Close()
		return nil, fmt.Errorf("open namespace %s: %w", path, err)
	}
	return s, nil
}

func (s *Sandbox) open(ctx context.Context, inInit bool) error {
	var err error
	if s.id, err = identity(s.ns); err != nil {
		return classify(err)
	}
	// Other kinds of namespace are on the same file system.
	kind, err := unix.IoctlRetInt(int(s.ns), unix.NS_GET_NSTYPE)
	if err != nil || kind != unix.CLONE_NEWNET {
		return ErrNotNamespace
	}
	conn, current, err := dial(s.ns, s.id, inInit)
	if err != nil {
		return classify(err)
	}
	s.current = current
	closeNS := s.close
	s.close = func() { conn.Close(); closeNS() }
	s.reader = reader{ctx: ctx, conn: conn}
	return nil
}

// Close releases the namespace and its socket. Closing again does nothing.
func (s *Sandbox) Close() {
	s.close()
	s.close = func() {}
}

// IsCurrent reports whether the sandbox is the network namespace that this
// process runs in.
func (s *Sandbox) IsCurrent() bool { return s.current }

// Same gives those of paths that lead to this namespace's file, whatever their
// spelling. Paths that lead nowhere are not among them.
func (s *Sandbox) Same(paths []string) []string {
	var same []string
	for _, path := range paths {
		if id, err := identify(path); err == nil && id == s.id {
			same = append(same, path)
		}
	}
	return same
}

func identity(ns netns.NsHandle) (fileID, error) {
	var stat unix.Stat_t
	if err := unix.Fstat(int(ns), &stat); err != nil {
		return fileID{}, fmt.Errorf("stat a namespace: %w", err)
	}
	return fileID{dev: stat.Dev, ino: stat.Ino}, nil
}

func identify(path string) (fileID, error) {
	var stat unix.Stat_t
	if err := unix.Stat(path, &stat); err != nil {
		return fileID{}, fmt.Errorf("stat %s: %w", path, err)
	}
	return fileID{dev: stat.Dev, ino: stat.Ino}, nil
}
