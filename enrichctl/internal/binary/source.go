// SPDX-License-Identifier: Apache-2.0

package binary

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/result-enricher/result-enricher/enrichctl/internal/conflist"
	"github.com/result-enricher/result-enricher/enrichctl/internal/swap"
)

// mode of an installed plugin: everybody may run it, its owner may replace it.
const mode = 0o755

// State says what is in a binary directory.
type State int

// The states. Different is a file that runs or not, but not the source's bytes.
const (
	Missing State = iota
	Equal
	Different
)

// Source is the binary that is to be in every directory.
type Source struct {
	// Path is the file that gets copied.
	Path string
	// Supported are the CNI versions that it answers to VERSION.
	Supported []string
	sum       Sum

	mu    sync.Mutex
	known map[string]memory
}

// memory spares reading a binary again that has not changed.
type memory struct {
	stat unix.Stat_t
	sum  Sum
}

// Open reads the plugin and runs it once with CNI_COMMAND=VERSION.
func Open(ctx context.Context, path string) (*Source, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		return nil, fmt.Errorf("find the plugin's binary (name it with --plugin-binary): %w", err)
	}
	sum, err := sumOf(path)
	if err != nil {
		return nil, fmt.Errorf("read the plugin's binary: %w", err)
	}
	supported, err := Supported(ctx, path)
	if err != nil {
		return nil, err
	}
	return &Source{Path: path, Supported: supported, sum: sum, known: map[string]memory{}}, nil
}

// Check compares what is in a directory with the source. It reads the file only when
// its inode, size or times are others than before.
func (s *Source) Check(dir string) (State, error) {
	path := filepath.Join(dir, conflist.PluginType)
	var stat unix.Stat_t
	if err := unix.Stat(path, &stat); err != nil {
		if errors.Is(err, unix.ENOENT) {
			return Missing, dirError(dir)
		}
		return Missing, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFREG {
		return Different, nil
	}
	sum, err := s.sumOf(path, stat)
	if err != nil {
		return Different, err
	}
	if sum != s.sum || stat.Mode&0o111 == 0 {
		return Different, nil
	}
	return Equal, nil
}

// dirError tells a binary that is missing from a directory that is.
func dirError(dir string) error {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = &os.PathError{Op: "open", Path: dir, Err: unix.ENOTDIR}
	}
	return err
}

func (s *Source) sumOf(path string, stat unix.Stat_t) (Sum, error) {
	stat.Atim = unix.Timespec{} // reading it changes that
	s.mu.Lock()
	defer s.mu.Unlock()
	if m, ok := s.known[path]; ok && m.stat == stat {
		return m.sum, nil
	}
	sum, err := sumOf(path)
	if err == nil {
		s.known[path] = memory{stat, sum}
	}
	return sum, err
}

// Install puts the source into a directory, unless an equal binary is there. The copy
// is run before it gets its name; on an error what was there stays.
func (s *Source) Install(ctx context.Context, dir string) (changed bool, err error) {
	if state, err := s.Check(dir); err != nil || state == Equal {
		return false, err
	}
	d, err := swap.Lock(ctx, dir)
	if err != nil {
		return false, err
	}
	defer d.Unlock()
	// Another installer may have been faster.
	if state, err := s.Check(dir); err != nil || state == Equal {
		return false, err
	}
	if err := d.Sweep(); err != nil {
		return false, err
	}
	err = d.Place(conflist.PluginType, mode, s.copyTo, func(path string) error {
		_, err := Supported(ctx, path)
		return err
	})
	return err == nil, err
}

// copyTo writes the source, and fails when it is no longer the file that was opened.
func (s *Source) copyTo(w io.Writer) error {
	f, err := os.Open(s.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(io.MultiWriter(w, h), f); err != nil {
		return err
	}
	if Sum(h.Sum(nil)) != s.sum {
		return fmt.Errorf("%s has changed since it was checked; start again", s.Path)
	}
	return nil
}

// Remove deletes the plugin from a directory. One that is not there is removed.
func Remove(ctx context.Context, dir string) (removed bool, err error) {
	if _, err := os.Lstat(filepath.Join(dir, conflist.PluginType)); errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	d, err := swap.Lock(ctx, dir)
	if err != nil {
		return false, err
	}
	defer d.Unlock()
	if err := d.Remove(conflist.PluginType); err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	return true, d.Sweep()
}
