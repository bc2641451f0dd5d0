// SPDX-License-Identifier: Apache-2.0

package swap

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"

	"golang.org/x/sys/unix"
)

var tempName = regexp.MustCompile(`^.+\.result-enricher-tmp-[0-9a-f]{16}$`)

// IsTemp reports whether a file name is that of one of our temporaries.
func IsTemp(name string) bool { return tempName.MatchString(name) }

func newTempName(name string) string {
	var random [8]byte
	rand.Read(random[:]) // never fails, by its documentation
	return name + ".result-enricher-tmp-" + hex.EncodeToString(random[:])
}

// Sweep removes the temporaries that a killed process left. It holds the lock, so
// none of them is in use.
func (d *Dir) Sweep() error {
	if _, err := d.f.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read directory %s: %w", d.Path, err)
	}
	entries, err := d.f.ReadDir(-1)
	if err != nil {
		return fmt.Errorf("read directory %s: %w", d.Path, err)
	}
	var errs []error
	for _, e := range entries {
		if IsTemp(e.Name()) && (e.Type().IsRegular() || e.Type()&os.ModeSymlink != 0) {
			if err := d.remove(e.Name()); err != nil && !errors.Is(err, os.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// HasTemps reports whether a directory holds temporaries, left over or in use.
// It takes no lock.
func HasTemps(path string) bool {
	entries, err := os.ReadDir(path)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if IsTemp(e.Name()) {
			return true
		}
	}
	return false
}

// create opens a new temporary for name, readable by nobody else until it has the
// mode it is to have.
func (d *Dir) create(name string) (*os.File, string, error) {
	temp := newTempName(name)
	fd, err := unix.Openat(d.fd(), temp, unix.O_CREAT|unix.O_EXCL|unix.O_RDWR|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, "", &os.PathError{Op: "create", Path: d.join(temp), Err: err}
	}
	return os.NewFile(uintptr(fd), d.join(temp)), temp, nil
}

// Place puts a new file into the directory, or a file in the place of another, in
// three steps: write fills and syncs a temporary, check looks at it by its path, and
// only then it gets its name. An error of either leaves the directory as it was.
func (d *Dir) Place(name string, mode os.FileMode, write func(io.Writer) error, check func(path string) error) (err error) {
	f, temp, err := d.create(name)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.discard(temp))
		}
	}()
	err = write(f)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	// Closed before the check: a file that is open for writing cannot be run.
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", d.join(temp), err)
	}
	if err := check(d.join(temp)); err != nil {
		return err
	}
	if err := d.rename(temp, name); err != nil {
		return err
	}
	// The file has its name: a failing sync must not remove anything.
	temp = ""
	return d.sync()
}

// Remove deletes a file for good.
func (d *Dir) Remove(name string) error {
	if err := d.remove(name); err != nil {
		return err
	}
	return d.sync()
}

func (d *Dir) discard(temp string) error {
	if temp == "" {
		return nil
	}
	if err := d.remove(temp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
