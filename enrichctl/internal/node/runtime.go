// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/result-enricher/result-enricher/enrichctl/internal/conflist"
)

// runtimeConfDir is where the runtime looks.
func (c Config) runtimeConfDir() string {
	if c.RuntimeConfDir != "" {
		return c.RuntimeConfDir
	}
	return c.ConfDir
}

// checkRuntime asks whether what the runtime loads leads to the conflist: it is the same
// file, or multus's, which delegates to it.
func (c Config) checkRuntime(s *Status) {
	dir := c.runtimeConfDir()
	paths, err := listConf(dir, confExts)
	if err != nil {
		if dir != c.ConfDir { // else it has been told
			s.add(problemWith(dir, CodeConfDirUnreadable, err))
		}
		return
	}
	if len(paths) == 0 {
		if dir != c.ConfDir {
			s.add(&Problem{
				Code: CodeRuntimeFileMissing, Path: dir, Message: "the runtime finds no network configuration there",
				Cure: "name the directory that the runtime reads with --runtime-conf-dir",
			})
		}
		return
	}
	s.RuntimeFile = paths[0]
	if sameFile(s.RuntimeFile, s.ConfFile) {
		return
	}
	file := readConf(s.RuntimeFile)
	first, err := firstPlugin(file.path, file.data)
	switch {
	case file.err != nil || err != nil:
		if err == nil {
			err = file.err
		}
		s.add(&Problem{
			Code: CodeRuntimeFileBroken, Path: s.RuntimeFile,
			Message: fmt.Sprintf("the runtime loads this file first and cannot use it, so the node has no network: %v", err),
			Cure:    "correct or remove the file",
		})
	case conflist.IsMultus(first):
		c.checkMultus(file, s)
	default:
		if info, err := conflist.Inspect(file.data); err == nil && len(info.Own) > 0 && !info.InFront() {
			return
		}
		s.add(&Problem{
			Code: CodeRuntimeFileOther, Path: s.RuntimeFile,
			Message: "the runtime loads this file, not the conflist with the entry",
			Cure:    "name it with --conf-file, or the directory that the runtime reads with --runtime-conf-dir",
		})
	}
}

func sameFile(a, b string) bool {
	if a == b {
		return true
	}
	statA, errA := os.Stat(a)
	statB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(statA, statB)
}

// checkMultus compares what multus delegates to with the conflist. With clusterNetwork
// it reads the list at every ADD; else it uses a copy from its own start.
func (c Config) checkMultus(file confFile, s *Status) {
	info, err := conflist.InspectMultus(file.data)
	if err != nil {
		s.add(problemWith(file.path, CodeRuntimeFileBroken, err))
		return
	}
	if info.ClusterNetwork != "" {
		c.checkClusterNetwork(file.path, info.ClusterNetwork, s)
		return
	}
	if s.Entry == nil || len(info.Embedded) == 0 {
		return // nothing to compare with
	}
	if network := info.Embedded[0]; !network.HasOwn {
		s.add(&Problem{
			Code: CodeMultusStale, Path: file.path,
			Message: fmt.Sprintf("multus uses its own copy of the list %q, made before the entry was put in", network.Name),
			Cure: fmt.Sprintf("restart multus so that it copies the list again, or have its configuration say clusterNetwork with the conflist's path (%s), which it reads at every ADD",
				s.ConfFile),
		})
	}
}

// checkClusterNetwork compares names only: multus sees the directory under another path.
// A name that is no file is one of a network, which cannot be looked up from here.
func (c Config) checkClusterNetwork(path, network string, s *Status) {
	if !slices.Contains(confExts, filepath.Ext(network)) || s.ConfFile == "" {
		return
	}
	for _, target := range append([]string{s.ConfFile}, c.ConfFiles...) {
		if filepath.Base(network) == filepath.Base(target) {
			return
		}
	}
	s.add(&Problem{
		Code: CodeMultusOther, Path: path,
		Message: fmt.Sprintf("multus delegates to %s, not to the conflist with the entry", network),
		Cure:    "name that file with --conf-file, or have multus's clusterNetwork name " + s.ConfFile,
	})
}

// checkNeighbours reports other files of the directories: broken ones, which make the
// node NotReady as soon as one of them comes first, and entries that have no use there.
func (c Config) checkNeighbours(s *Status) {
	for _, dir := range unique([]string{c.ConfDir, c.runtimeConfDir()}) {
		paths, err := listConf(dir, confExts)
		if err != nil {
			continue // told before
		}
		for _, path := range paths {
			if path != s.ConfFile && path != s.RuntimeFile && !slices.Contains(c.ConfFiles, path) {
				checkNeighbour(path, s)
			}
		}
	}
}

func checkNeighbour(path string, s *Status) {
	file := readConf(path)
	err := file.err
	var info *conflist.Info
	if err == nil {
		info, err = conflist.Inspect(file.data)
	}
	if err == nil && info.Single == (filepath.Ext(path) == conflistExt) {
		err = fmt.Errorf("what is in it does not go with the extension %s", filepath.Ext(path))
	}
	switch {
	case err != nil:
		s.add(&Problem{
			Code: CodeNeighbourBroken, Path: path, Note: true,
			Message: fmt.Sprintf("a runtime cannot load this file, and has no network when it comes first: %s", strings.TrimPrefix(err.Error(), path+": ")),
			Cure:    "correct the file, or give it another extension",
		})
	case len(info.Own) > 0:
		s.add(&Problem{
			Code: CodeEntryElsewhere, Path: path, Note: true,
			Message: "the entry is in this file too, which is not the one that pods get",
			Cure:    "leave it where it serves another network; uninstall takes it out everywhere",
		})
	}
}
