// SPDX-License-Identifier: Apache-2.0

package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"

	"github.com/containernetworking/cni/libcni"

	"github.com/result-enricher/result-enricher/enrichctl/internal/conflist"
	"github.com/result-enricher/result-enricher/enrichctl/internal/swap"
)

const conflistExt = ".conflist"

// confExts are what containerd (go-cni) and CRI-O load.
var confExts = []string{".conf", conflistExt, ".json"}

// Config says where things are on this node.
type Config struct {
	// ConfDir is the directory of the conflists.
	ConfDir string
	// ConfFiles are the files to edit; empty to find the one that the runtime gets to, past multus.
	ConfFiles []string
	// RuntimeConfDir is where the runtime looks, when that is elsewhere; else equal to ConfDir.
	RuntimeConfDir string
	// BinDirs are all the directories in which a runtime, or multus, looks for plugins.
	BinDirs []string
	// CacheDirs are those of libcni and multus.
	CacheDirs []string
}

// confFile is a file of a configuration directory that was read, or could not be.
type confFile struct {
	path string
	data []byte
	err  error
}

func readConf(path string) confFile {
	data, err := swap.Read(path)
	return confFile{path, data, err}
}

// listConf gives the paths in a configuration directory in the order in which runtimes
// load them: libcni's extensions, sorted as strings.
func listConf(dir string, exts []string) ([]string, error) {
	if err := checkConfDir(dir); err != nil {
		return nil, err
	}
	paths, err := libcni.ConfFiles(dir, exts)
	if err != nil {
		return nil, &Problem{
			Code: CodeConfDirUnreadable, Path: dir, Message: err.Error(), Cure: cureOf(err), Temporary: true,
		}
	}
	sort.Strings(paths)
	return paths, nil
}

// checkConfDir is needed because libcni takes a directory that is missing for an empty one.
func checkConfDir(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &Problem{
			Code: CodeConfDirMissing, Path: dir, Temporary: true, Message: "the configuration directory is not there",
			Cure: "name the one that the runtime reads with --cni-conf-dir; it is made by the runtime or the primary, never by enrichctl",
		}
	case err != nil:
		return &Problem{Code: CodeConfDirUnreadable, Path: dir, Message: err.Error(), Cure: cureOf(err), Temporary: true}
	case !info.IsDir():
		return &Problem{
			Code: CodeConfDirUnreadable, Path: dir, Message: "it is not a directory", Cure: "name the directory with --cni-conf-dir",
		}
	}
	return nil
}

// targets gives the files that are to have the entry. The error is a *Problem.
func (c Config) targets() ([]string, error) {
	if len(c.ConfFiles) > 0 {
		return c.ConfFiles, nil
	}
	paths, err := listConf(c.ConfDir, confExts)
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		if isTarget(readConf(path)) {
			return []string{path}, nil
		}
	}
	return nil, &Problem{
		Code: CodeConflistMissing, Path: c.ConfDir, Temporary: true,
		Message: noTarget(len(paths)),
		Cure:    "install the primary network plugin first, or name the right directory with --cni-conf-dir",
	}
}

func noTarget(files int) string {
	if files == 0 {
		return "there is no network configuration yet"
	}
	return "there is no network configuration but that of multus"
}

// isTarget reports whether a file ends the search: whatever is not certainly multus's does. A
// file that cannot be read or parsed may be the primary's, in the middle of being
// written; the one behind it is never taken instead.
func isTarget(f confFile) bool {
	if f.err != nil {
		return true
	}
	first, err := firstPlugin(f.path, f.data)
	return err != nil || !conflist.IsMultus(first)
}

// firstPlugin gives the type of the plugin that a runtime runs first.
func firstPlugin(path string, data []byte) (string, error) {
	var conf struct {
		Type    string `json:"type"`
		Plugins []struct {
			Type string `json:"type"`
		} `json:"plugins"`
	}
	if err := json.Unmarshal(data, &conf); err != nil {
		return "", fmt.Errorf("decode %s: %w", path, err)
	}
	if filepath.Ext(path) != conflistExt {
		return conf.Type, nil
	}
	if len(conf.Plugins) == 0 {
		return "", nil
	}
	return conf.Plugins[0].Type, nil
}

// editable refuses files that must not get an entry whatever they say.
func editable(f confFile) error {
	if f.err != nil {
		return problemWith(f.path, CodeConflistUnreadable, f.err)
	}
	first, err := firstPlugin(f.path, f.data)
	if err == nil && conflist.IsMultus(first) {
		return &Problem{
			Code: CodeMultusFile, Path: f.path, Message: fmt.Sprintf("this is the configuration of %s, which publishes the Result before the entry would run", first),
			Cure: "name the file of the network that it delegates to with --conf-file",
		}
	}
	if ext := filepath.Ext(f.path); ext != conflistExt {
		return &Problem{
			Code: conflist.CodeNotList, Path: f.path,
			Message: fmt.Sprintf("a %s file has a single plugin, to which nothing can be chained", ext),
			Cure:    "have the primary write a .conflist with the same name and cniVersion instead of this file",
		}
	}
	return nil
}
