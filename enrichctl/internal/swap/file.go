// SPDX-License-Identifier: Apache-2.0

package swap

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// maxSize bounds what is read. A conflist has a few kilobytes; whatever is larger is none.
const maxSize = 4 << 20

// maxAttempts bounds how often one call starts over because the file changed under it.
const maxAttempts = 20

// ErrBusy is returned when a file changed again and again while it was being replaced.
var ErrBusy = errors.New("file keeps changing; its owner is writing it")

// Edit gives the new bytes for a file. Equal bytes mean that nothing is to do; an
// error leaves the file alone. It may be called several times.
type Edit func(old []byte) ([]byte, error)

// Change says what File did.
type Change struct {
	// Path is the file that was asked for, Real where its symbolic links lead.
	Path, Real string
	// Before are the bytes that were there, After those that are there now.
	Before, After []byte
	// Replaced is the file that lost its name, still open; nil when nothing was
	// written. The caller closes it.
	Replaced *Replaced
}

// Read reads a file as File would: links followed, nothing but regular files, no
// unbounded size.
func Read(path string) ([]byte, error) {
	route, err := Resolve(path)
	if err != nil {
		return nil, err
	}
	f, err := openRegular(unix.AT_FDCWD, route.Real)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f)
}

// File replaces the bytes of a file by what edit makes of them, if that differs. Mode,
// owner and extended attributes stay. On an error the file is as it was, unless the
// error comes from making a replacement durable or visible through a link (then Change
// is not nil).
func File(ctx context.Context, path string, edit Edit) (*Change, error) {
	route, err := Resolve(path)
	if err != nil {
		return nil, err
	}
	dirs, err := lockRoute(ctx, route)
	if err != nil {
		return nil, err
	}
	defer dirs.unlock()
	if now, err := Resolve(path); err != nil || now.Real != route.Real {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, ErrBusy), err)
	}
	change := &Change{Path: path, Real: route.Real}
	err = dirs.real.replace(ctx, filepath.Base(route.Real), edit, change)
	if err != nil || change.Replaced == nil || len(route.Links) == 0 {
		return changed(change, err)
	}
	return change, dirs.link.relink(filepath.Base(route.Links[0]))
}

// changed withholds a Change in which nothing happened from those who got an error.
func changed(c *Change, err error) (*Change, error) {
	if err != nil && c.Replaced == nil {
		return nil, err
	}
	return c, err
}

// locked are the directories of a route, link and real being the same one for a file
// whose links stay in its directory.
type locked struct{ link, real *Dir }

func lockRoute(ctx context.Context, route Route) (*locked, error) {
	first := route.Real
	if len(route.Links) > 0 {
		first = route.Links[0]
	}
	l := &locked{}
	var err error
	if l.link, err = Lock(ctx, filepath.Dir(first)); err != nil {
		return nil, err
	}
	l.real = l.link
	if !sameDirectory(l.link.f, filepath.Dir(route.Real)) {
		if l.real, err = Lock(ctx, filepath.Dir(route.Real)); err != nil {
			l.link.Unlock()
			return nil, err
		}
	}
	return l, nil
}

func (l *locked) unlock() {
	if l.real != l.link {
		l.real.Unlock()
	}
	l.link.Unlock()
}

func (d *Dir) replace(ctx context.Context, name string, edit Edit, change *Change) error {
	for range maxAttempts {
		old, err := openRegular(d.fd(), name)
		if err != nil {
			return err
		}
		again, err := d.attempt(ctx, name, old, edit, change)
		if change.Replaced == nil {
			old.Close()
		}
		if !again {
			return err
		}
	}
	return fmt.Errorf("replace %s: %w", d.join(name), ErrBusy)
}

// attempt does one replacement; again means that the file changed under it.
func (d *Dir) attempt(ctx context.Context, name string, old *os.File, edit Edit, change *Change) (again bool, err error) {
	if change.Before, err = readAll(old); err != nil {
		return false, err
	}
	if change.After, err = edit(change.Before); err != nil {
		return false, err
	}
	if bytes.Equal(change.After, change.Before) {
		return false, nil
	}
	f, temp, err := d.create(name)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, d.discard(temp)) }()
	if err := fill(f, old, change.After); err != nil {
		return false, fmt.Errorf("write %s: %w", d.join(temp), err)
	}
	// The state first, then the bytes: whatever is written after this line changes one of them.
	state, unchanged, err := d.compare(old, change.Before)
	if err != nil || !unchanged {
		return err == nil, err
	}
	if err := ctx.Err(); err != nil {
		return false, fmt.Errorf("stop before %s is replaced: %w", d.join(name), err)
	}
	// From here to the rename nothing else: what the owner does in between is lost.
	if !d.still(name, state) {
		return true, nil
	}
	if err := d.rename(temp, name); err != nil {
		return false, err
	}
	temp = ""
	change.Replaced = &Replaced{f: old, last: change.Before}
	return false, d.sync()
}

// fill writes the bytes before it gives the file its mode and attributes: until then nobody else can read
// it, and a later write would take some of them off again.
func fill(f, old *os.File, content []byte) error {
	_, err := f.Write(content)
	if err == nil {
		err = copyAttributes(old, f)
	}
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// compare reads the opened file again. It gives the state that the file had before that.
func (d *Dir) compare(old *os.File, content []byte) (state unix.Stat_t, same bool, err error) {
	if err := unix.Fstat(int(old.Fd()), &state); err != nil {
		return state, false, fmt.Errorf("stat %s: %w", old.Name(), err)
	}
	now, err := readAll(old)
	return state, bytes.Equal(now, content), err
}

// still reports whether the name leads to a file in this very state.
func (d *Dir) still(name string, state unix.Stat_t) bool {
	var now unix.Stat_t
	return unix.Fstatat(d.fd(), name, &now, unix.AT_SYMLINK_NOFOLLOW) == nil && sameState(state, now)
}

func sameState(a, b unix.Stat_t) bool {
	return a.Dev == b.Dev && a.Ino == b.Ino && a.Size == b.Size && a.Mtim == b.Mtim && a.Ctim == b.Ctim
}

// openRegular opens a regular file for reading and nothing else: no link, and no pipe
// that would block.
func openRegular(dir int, name string) (*os.File, error) {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	f := os.NewFile(uintptr(fd), name)
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &os.PathError{Op: "read", Path: name, Err: fmt.Errorf("not a regular file: %w", fs.ErrInvalid)}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func readAll(f *os.File) ([]byte, error) {
	data, err := io.ReadAll(io.NewSectionReader(f, 0, maxSize+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", f.Name(), err)
	}
	if len(data) > maxSize {
		return nil, fmt.Errorf("read %s: larger than %d bytes, which is no conflist: %w", f.Name(), maxSize, fs.ErrInvalid)
	}
	return data, nil
}
