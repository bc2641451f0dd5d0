// SPDX-License-Identifier: Apache-2.0

package node

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/result-enricher/result-enricher/enrichctl/internal/swap"
)

// bakExt is what Cilium adds to the files of others (cni.exclusive); it reads such a file
// again when it is told to chain.
const bakExt = ".cilium_bak"

// ConfDirs are the directories that the conflists lie in.
func (c Config) ConfDirs() []string {
	if len(c.ConfFiles) == 0 {
		return []string{c.ConfDir}
	}
	var dirs []string
	for _, path := range c.ConfFiles {
		dirs = append(dirs, filepath.Dir(path))
	}
	return unique(dirs)
}

// confFiles are the files that hold or may come to hold the entry.
func (c Config) confFiles() []string {
	if len(c.ConfFiles) > 0 {
		return c.ConfFiles
	}
	paths, err := listConf(c.ConfDir, append([]string{bakExt}, confExts...))
	if err != nil {
		return nil // whoever needs the files themselves will say why
	}
	return paths
}

// confPlaces are the directories in which a conflist can change: the configuration
// directory and, for files that are links, every directory on the way.
func (c Config) confPlaces() []string {
	dirs := c.ConfDirs()
	for _, path := range c.confFiles() {
		if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSymlink != 0 {
			// A link to nothing has a route too, up to where it ends.
			route, _ := swap.Resolve(path)
			dirs = append(dirs, route.Dirs()...)
		}
	}
	return unique(dirs)
}

// writable are the directories in which a killed process may have left temporaries.
func (c Config) writable() []string {
	return unique(append(c.confPlaces(), c.BinDirs...))
}

func unique(paths []string) []string {
	slices.Sort(paths)
	return slices.Compact(paths)
}
