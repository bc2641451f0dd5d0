// SPDX-License-Identifier: Apache-2.0

// Package host looks after the isolated surroundings in which a suite runs real chains: it hides what the machine has
// configured for CNI, and tells at the end what was left behind. It may touch the mounts of the process, and expects to
// run in package isolate's inner process.
package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/result-enricher/result-enricher/internal/podns"
)

// Survey is what was there before anything was done.
type Survey struct {
	links []string
}

// Begin hides the machine's CNI configuration, where tuning looks for its allow list, and looks around.
func Begin() (Survey, error) {
	err := unix.Mount("result-enricher", "/etc/cni", "tmpfs", unix.MS_NODEV|unix.MS_NOSUID, "mode=0755")
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return Survey{}, fmt.Errorf("mount a tmpfs over /etc/cni: %w", err)
	}
	// A kernel may put tunnels of its own into every new namespace.
	links, err := podns.HostLinks()
	return Survey{links: links}, err
}

// Leftovers names the links, namespaces, state files and processes that were not there at the beginning.
func (s Survey) Leftovers() ([]string, error) {
	links, err := podns.HostLinks()
	if err != nil {
		return nil, err
	}
	found := []string{}
	for _, link := range links {
		if !slices.Contains(s.links, link) {
			found = append(found, "link "+link)
		}
	}
	for _, pattern := range []string{"/run/netns/*", "/var/run/netns/*", "/run/cni/*/*", "/var/lib/cni/*/*"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			return nil, fmt.Errorf("look for %s: %w", pattern, err)
		}
		found = append(found, paths...)
	}
	processes, err := others()
	return append(found, processes...), err
}

// others are the processes that share this one's mount namespace, which all of its descendants do.
func others() ([]string, error) {
	own, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		return nil, fmt.Errorf("read the own mount namespace: %w", err)
	}
	links, err := filepath.Glob("/proc/[0-9]*/ns/mnt")
	if err != nil {
		return nil, fmt.Errorf("list the processes: %w", err)
	}
	var found []string
	for _, link := range links {
		pid := filepath.Base(filepath.Dir(filepath.Dir(link)))
		// Of a process that ended meanwhile, or that is another user's, nothing can be read.
		if ns, err := os.Readlink(link); err == nil && ns == own && pid != strconv.Itoa(os.Getpid()) {
			found = append(found, "process "+pid)
		}
	}
	return found, nil
}
