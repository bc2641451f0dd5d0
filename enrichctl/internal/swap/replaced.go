// SPDX-License-Identifier: Apache-2.0

package swap

import (
	"bytes"
	"os"

	"golang.org/x/sys/unix"
)

// Replaced is a file that has lost its name to a new one. Who had it open still
// writes into it, and believes to write the conflist.
type Replaced struct {
	f    *os.File
	last []byte
}

// News gives the bytes of the file when they are others than at the last call (at
// first: than those that were replaced), else nil and false. They may be half of what the owner
// is writing.
func (r *Replaced) News() ([]byte, bool, error) {
	now, err := readAll(r.f)
	if err != nil || bytes.Equal(now, r.last) {
		return nil, false, err
	}
	r.last = now
	return now, true, nil
}

// Writers is what is known of those who have a file open for writing.
type Writers int

// NoWriters is certain. UnknownWriters: the file system has no leases, or they are not for us.
const (
	UnknownWriters Writers = iota
	NoWriters
	SomeWriters
)

// Writers asks the kernel for a read lease, which it grants only on a file that
// nobody has open for writing, and gives it back at once. On a file without a name
// that hinders nobody. It needs to be the file's owner or CAP_LEASE.
func (r *Replaced) Writers() Writers {
	fd := r.f.Fd()
	_, err := unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_RDLCK)
	switch err {
	case nil:
		if _, err := unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_UNLCK); err != nil {
			return UnknownWriters
		}
		return NoWriters
	case unix.EAGAIN:
		return SomeWriters
	default:
		return UnknownWriters
	}
}

// Close lets go of the file.
func (r *Replaced) Close() { r.f.Close() }
