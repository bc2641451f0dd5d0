// SPDX-License-Identifier: Apache-2.0

package swap

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// maxLinks is the kernel's limit for one path.
const maxLinks = 40

// A LinkError says that a symbolic link leads to nothing that can be seen from
// here. In a container it usually leads out of what is mounted.
type LinkError struct {
	// Link is the file that was asked for, Missing the path it leads to.
	Link, Missing string
}

func (e *LinkError) Error() string {
	return fmt.Sprintf("%s is a symbolic link to %s, which cannot be seen from here; in a container, mount the directory %s at the same path",
		e.Link, e.Missing, e.Mount())
}

// Mount is the directory that would have to be mounted.
func (e *LinkError) Mount() string { return filepath.Dir(e.Missing) }

// Unwrap makes a LinkError an os.ErrNotExist.
func (e *LinkError) Unwrap() error { return os.ErrNotExist }

// Route is the way from a file's name to the file itself.
type Route struct {
	// Links are the symbolic links on the way, the one that was asked for first. Empty for a plain file.
	Links []string
	// Real is the file.
	Real string
}

// Dirs are the directories in which the route can change: those of the links, then
// that of the file.
func (r Route) Dirs() []string {
	var dirs []string
	for _, path := range append(append([]string{}, r.Links...), r.Real) {
		dirs = append(dirs, filepath.Dir(path))
	}
	return dirs
}

// Resolve follows a file's symbolic links. Directories on the way that are links are
// left to the kernel. A link to nothing is a *LinkError.
func Resolve(path string) (Route, error) {
	route := Route{Real: filepath.Clean(path)}
	for range maxLinks {
		info, err := os.Lstat(route.Real)
		if errors.Is(err, os.ErrNotExist) && len(route.Links) > 0 {
			return route, &LinkError{Link: path, Missing: route.Real}
		}
		if err != nil {
			return route, err
		}
		if info.Mode()&os.ModeSymlink == 0 {
			return route, nil
		}
		to, err := os.Readlink(route.Real)
		if err != nil {
			return route, err
		}
		route.Links = append(route.Links, route.Real)
		if !filepath.IsAbs(to) {
			to, err = join(filepath.Dir(route.Real), to)
			if err != nil {
				return route, err
			}
		}
		route.Real = filepath.Clean(to)
	}
	return route, &os.PathError{Op: "follow", Path: path, Err: unix.ELOOP}
}

// join appends a relative link to its directory as the kernel does: .. in it means
// the parent of the real directory.
func join(dir, to string) (string, error) {
	physical, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	return filepath.Join(physical, to), nil
}

// relink puts an equal link in the place of a link. Nothing changes but that who
// watches the link's directory sees a rename there.
func (d *Dir) relink(name string) error {
	to, err := os.Readlink(d.join(name))
	if err != nil {
		return err
	}
	var old unix.Stat_t
	if err := unix.Fstatat(d.fd(), name, &old, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return &os.PathError{Op: "stat", Path: d.join(name), Err: err}
	}
	temp := newTempName(name)
	if err := unix.Symlinkat(to, d.fd(), temp); err != nil {
		return &os.PathError{Op: "symlink", Path: d.join(temp), Err: err}
	}
	err = unix.Fchownat(d.fd(), temp, int(old.Uid), int(old.Gid), unix.AT_SYMLINK_NOFOLLOW)
	// The owner may have set the link anew in the meantime; then it was seen anyway.
	if now, e := os.Readlink(d.join(name)); err == nil && e == nil && now == to {
		err = d.rename(temp, name)
		if err == nil {
			return d.sync()
		}
	}
	return errors.Join(err, d.discard(temp))
}
