// SPDX-License-Identifier: Apache-2.0

package isolate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// freshDir makes dir an empty directory in memory. One that exists is covered. One that does not is not created on the
// machine's disk: the nearest parent that exists becomes a copy in memory, with everything in it bound from the original.
func freshDir(dir string) error {
	parent, missing := dir, ""
	for {
		_, err := os.Stat(parent)
		if err == nil {
			break
		}
		if !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("look at %s: %w", parent, err)
		}
		missing = filepath.Join(filepath.Base(parent), missing)
		parent = filepath.Dir(parent)
	}
	parent, err := filepath.EvalSymlinks(parent)
	if err != nil {
		return fmt.Errorf("resolve %s: %w", parent, err)
	}
	if missing == "" {
		return mountMemory(parent)
	}
	if err := mirror(parent); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(parent, missing), 0o755); err != nil {
		return fmt.Errorf("make %s in memory: %w", dir, err)
	}
	return nil
}

func mountMemory(dir string) error {
	if err := unix.Mount("result-enricher", dir, "tmpfs", unix.MS_NODEV|unix.MS_NOSUID, "mode=0755"); err != nil {
		return fmt.Errorf("mount a tmpfs over %s: %w", dir, err)
	}
	return nil
}

// mirror covers dir with a directory in memory that has the same entries.
func mirror(dir string) error {
	staging, err := os.MkdirTemp("", "result-enricher-mirror-")
	if err != nil {
		return fmt.Errorf("make a mount point: %w", err)
	}
	defer os.Remove(staging)
	if err := mountMemory(staging); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("list %s: %w", dir, err)
	}
	for _, entry := range entries {
		err := mirrorEntry(filepath.Join(dir, entry.Name()), filepath.Join(staging, entry.Name()), entry.Type())
		// Other programs may delete files of /run meanwhile.
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if err := unix.Mount(staging, dir, "", unix.MS_MOVE, ""); err != nil {
		return fmt.Errorf("cover %s: %w", dir, err)
	}
	return nil
}

func mirrorEntry(from, to string, kind os.FileMode) error {
	switch {
	case kind&os.ModeSymlink != 0:
		target, err := os.Readlink(from)
		if err != nil {
			return fmt.Errorf("read the link: %w", err)
		}
		return os.Symlink(target, to)
	case kind.IsDir():
		if err := os.Mkdir(to, 0o755); err != nil {
			return fmt.Errorf("make a mount point: %w", err)
		}
	default:
		if err := os.WriteFile(to, nil, 0o600); err != nil {
			return fmt.Errorf("make a mount point: %w", err)
		}
	}
	if err := unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("bind %s: %w", from, err)
	}
	return nil
}
