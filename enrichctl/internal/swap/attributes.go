// SPDX-License-Identifier: Apache-2.0

package swap

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Attributes that describe the old bytes, not the file: signatures of the content
// and capabilities of a program.
var contentAttributes = []string{"security.ima", "security.evm", "security.capability"}

// copyAttributes gives a file the owner, mode and extended attributes (so also the
// ACL and the SELinux label) of another one. The owner comes last: up to then the file is ours, and afterwards its mode
// and ACL could be changed only with CAP_FOWNER, which containers are not given for this. Nothing is ever readable by more
// people than before.
func copyAttributes(from, to *os.File) error {
	var want, have unix.Stat_t
	if err := unix.Fstat(int(from.Fd()), &want); err != nil {
		return fmt.Errorf("stat %s: %w", from.Name(), err)
	}
	if err := unix.Fstat(int(to.Fd()), &have); err != nil {
		return fmt.Errorf("stat %s: %w", to.Name(), err)
	}
	// A change of group clears mode bits, so the mode comes after it.
	if want.Gid != have.Gid {
		if err := unix.Fchown(int(to.Fd()), -1, int(want.Gid)); err != nil {
			return fmt.Errorf("give %s the group %d of the file it replaces: %w", to.Name(), want.Gid, err)
		}
	}
	if err := unix.Fchmod(int(to.Fd()), want.Mode&0o7777); err != nil {
		return fmt.Errorf("give %s the mode of the file it replaces: %w", to.Name(), err)
	}
	names, err := listAttributes(from)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := copyAttribute(from, to, name); err != nil {
			return err
		}
	}
	if want.Uid != have.Uid {
		if err := unix.Fchown(int(to.Fd()), int(want.Uid), -1); err != nil {
			return fmt.Errorf("give %s the owner %d of the file it replaces: %w", to.Name(), want.Uid, err)
		}
	}
	return nil
}

func copyAttribute(from, to *os.File, name string) error {
	want, err := readAttribute(from, name)
	if err != nil {
		return fmt.Errorf("read attribute %s of %s: %w", name, from.Name(), err)
	}
	// A label that the new file has already by inheritance need not be set, which not everybody may.
	if have, err := readAttribute(to, name); err == nil && bytes.Equal(have, want) {
		return nil
	}
	if err := unix.Fsetxattr(int(to.Fd()), name, want, 0); err != nil {
		return fmt.Errorf("keep attribute %s of %s: %w", name, from.Name(), err)
	}
	return nil
}

func listAttributes(f *os.File) ([]string, error) {
	list, err := grow(func(b []byte) (int, error) { return unix.Flistxattr(int(f.Fd()), b) })
	if errors.Is(err, unix.ENOTSUP) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list attributes of %s: %w", f.Name(), err)
	}
	names := strings.Split(strings.TrimRight(string(list), "\x00"), "\x00")
	return slices.DeleteFunc(names, func(name string) bool {
		return name == "" || slices.Contains(contentAttributes, name)
	}), nil
}

func readAttribute(f *os.File, name string) ([]byte, error) {
	return grow(func(b []byte) (int, error) { return unix.Fgetxattr(int(f.Fd()), name, b) })
}

// grow calls read with ever larger buffers. 64 KiB is the kernel's own limit.
func grow(read func([]byte) (int, error)) ([]byte, error) {
	for size := 1 << 10; ; size *= 4 {
		b := make([]byte, size)
		n, err := read(b)
		if errors.Is(err, unix.ERANGE) && size < 1<<17 {
			continue
		}
		if err != nil {
			return nil, err
		}
		return b[:n], nil
	}
}
