// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/pflag"

	"github.com/result-enricher/result-enricher/enrichctl/internal/node"
)

// Where the standard paths are when nobody says otherwise.
const (
	defaultConfDir = "/etc/cni/net.d"
	defaultBinDir  = "/opt/cni/bin"
)

var defaultCacheDirs = []string{"/var/lib/cni/results", "/var/lib/cni/multus"}

// places are the flags that say where things are.
type places struct {
	confDir    pathValue
	confFiles  pathsValue
	runtimeDir pathValue
	binDirs    pathsValue
	cacheDirs  pathsValue
}

func newPlaces() *places {
	p := &places{
		confDir:   pathValue{defaultConfDir},
		binDirs:   pathsValue{paths: []string{defaultBinDir}},
		cacheDirs: pathsValue{paths: defaultCacheDirs},
	}
	p.confFiles.in = &p.confDir
	return p
}

// addCommon adds the flags that install, uninstall and status share.
func (p *places) addCommon(flags *pflag.FlagSet) {
	flags.Var(&p.confDir, "cni-conf-dir", "directory of the conflists")
	flags.Var(&p.binDirs, "cni-bin-dir", "directory where the runtime, or multus, finds plugins; may be repeated")
	flags.Var(&p.confFiles, "conf-file", "conflist to edit, a path or a name in --cni-conf-dir, instead of the first one that is not multus's; may be repeated")
}

func (p *places) addCacheDirs(flags *pflag.FlagSet) {
	flags.Var(&p.cacheDirs, "cache-dir", "directory with configurations cached for containers; may be repeated")
}

func (p *places) addRuntimeDir(flags *pflag.FlagSet) {
	flags.Var(&p.runtimeDir, "runtime-conf-dir", "directory that the runtime reads, if it is not --cni-conf-dir (OpenShift)")
}

func (p *places) config() node.Config {
	c := node.Config{
		ConfDir: p.confDir.path, ConfFiles: p.confFiles.list(), RuntimeConfDir: p.runtimeDir.path,
		BinDirs: p.binDirs.list(), CacheDirs: p.cacheDirs.list(),
	}
	if c.RuntimeConfDir == "" {
		c.RuntimeConfDir = c.ConfDir
	}
	return c
}
