// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// Why a sandbox cannot be inspected. Errors of this package wrap one of these
// where the cause is known.
var (
	// ErrNoNamespace: nothing is at the path; the sandbox may be gone already.
	ErrNoNamespace = errors.New("no such namespace")
	// ErrNotNamespace: what is at the path is no network namespace.
	ErrNotNamespace = errors.New("not a network namespace")
	// ErrNoLink: the namespace has no link of that name.
	ErrNoLink = errors.New("no such link")
	// ErrInterrupted: the state changed during every attempt to read it, or the
	// deadline passed. Trying again may help.
	ErrInterrupted = errors.New("interrupted")
	// ErrNotPermitted: entering the namespace needs CAP_SYS_ADMIN in the user
	// namespace that owns it.
	ErrNotPermitted = errors.New("not permitted")
)

// classify adds the sentinel of this package that fits the cause.
func classify(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.ENODEV):
		return fmt.Errorf("%w: %w", ErrNoLink, err)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR):
		return fmt.Errorf("%w: %w", ErrNoNamespace, err)
	case errors.Is(err, errDumpInterrupted), errors.Is(err, os.ErrDeadlineExceeded),
		errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
		// A socket's receive timeout shows as EAGAIN.
		return fmt.Errorf("%w: %w", ErrInterrupted, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: %w", ErrNotPermitted, err)
	default:
		return err
	}
}
