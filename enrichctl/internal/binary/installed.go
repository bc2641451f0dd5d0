// SPDX-License-Identifier: Apache-2.0

package binary

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/result-enricher/result-enricher/enrichctl/internal/conflist"
)

// Installed is the plugin in one directory, as status shows it.
type Installed struct {
	Path        string   `json:"path"`
	Present     bool     `json:"present"`
	Version     string   `json:"version,omitempty"`
	CNIVersions []string `json:"cniVersions,omitempty"`
	SHA256      string   `json:"sha256,omitempty"`
	// Error says why the binary does not run.
	Error string `json:"error,omitempty"`
}

// Probe runs the plugin of a directory as a runtime would.
func Probe(ctx context.Context, dir string) Installed {
	i := Installed{Path: filepath.Join(dir, conflist.PluginType)}
	if _, err := os.Stat(i.Path); errors.Is(err, os.ErrNotExist) {
		return i
	}
	i.Present = true
	var err error
	if i.CNIVersions, err = Supported(ctx, i.Path); err != nil {
		i.Error = err.Error()
	}
	return i
}

// Inspect is Probe, and says which plugin it is.
func Inspect(ctx context.Context, dir string) Installed {
	i := Probe(ctx, dir)
	if !i.Present {
		return i
	}
	sum, err := sumOf(i.Path)
	if err == nil {
		i.SHA256 = sum.String()
	}
	if i.Error != "" {
		return i
	}
	// Runtimes never ask for the version: not knowing it is no fault.
	i.Version, err = Version(ctx, i.Path)
	if err != nil {
		i.Version = "unknown"
	}
	return i
}

// FindType looks for the binary of a plugin type. A symbolic link counts even when it
// leads nowhere from here: in a container it may lead out of what is mounted. Any other
// error than that there is none counts as found, because nothing is known.
func FindType(dirs []string, pluginType string) bool {
	for _, dir := range dirs {
		if _, err := os.Lstat(filepath.Join(dir, pluginType)); err == nil || !errors.Is(err, os.ErrNotExist) {
			return true
		}
	}
	return false
}
