// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/result-enricher/result-enricher/enrichctl/internal/binary"
	"github.com/result-enricher/result-enricher/enrichctl/internal/cache"
	"github.com/result-enricher/result-enricher/enrichctl/internal/conflist"
	"github.com/result-enricher/result-enricher/plugin"
)

// Status is how the node stands. Its JSON is an interface: keys and problem codes stay.
type Status struct {
	// Ready: pods that are started now get repaired Results.
	Ready bool `json:"ready"`
	// ConfFile is the conflist that has the entry or is to have it, "" if there is none.
	ConfFile string `json:"confFile"`
	// RuntimeFile is what the runtime loads, multus's file where there is one.
	RuntimeFile string `json:"runtimeFile"`
	// Entry is our element of the conflist, null if there is none.
	Entry    json.RawMessage    `json:"entry"`
	Binaries []binary.Installed `json:"binaries"`
	Problems []Problem          `json:"problems"`

	// Plugins are the types in the conflist, in order.
	Plugins []string `json:"-"`
	// Needing counts the cached configurations that need the binary.
	Needing int `json:"-"`
	network string
}

func (s *Status) add(p *Problem) {
	s.Problems = append(s.Problems, *p)
	s.Ready = s.Ready && p.Note
}

// Status looks at everything that decides what the next pod gets, and at what else is
// worth knowing. It changes nothing.
func (c Config) Status(ctx context.Context) Status {
	s := c.Probe(ctx)
	for i, b := range s.Binaries {
		if b.Present && b.Error == "" {
			s.Binaries[i] = binary.Inspect(ctx, filepath.Dir(b.Path))
		}
	}
	c.checkSame(&s)
	c.checkRuntime(&s)
	c.checkNeighbours(&s)
	c.checkCaches(&s)
	return s
}

// Probe looks at the binaries and the entry only: cheap enough for every few seconds.
func (c Config) Probe(ctx context.Context) Status {
	s := Status{Ready: true, Binaries: []binary.Installed{}, Problems: []Problem{}}
	for _, dir := range c.BinDirs {
		c.checkBinary(ctx, dir, &s)
	}
	paths, err := c.targets()
	if err != nil {
		s.add(problemWith(c.ConfDir, CodeConfDirUnreadable, err))
	}
	for i, path := range paths {
		c.checkEntry(path, i == 0, &s)
	}
	return s
}

func (c Config) checkBinary(ctx context.Context, dir string, s *Status) {
	b := binary.Probe(ctx, dir)
	s.Binaries = append(s.Binaries, b)
	switch {
	case !b.Present:
		s.add(&Problem{
			Code: CodeBinaryMissing, Path: b.Path, Message: "the plugin's binary is not there",
			Cure: "run enrichctl install; a runtime that looks there fails every pod whose conflist has the entry",
		})
	case b.Error != "":
		s.add(&Problem{
			Code: CodeBinaryBroken, Path: b.Path, Message: "the plugin's binary does not work: " + b.Error,
			Cure: "run enrichctl install with a binary for this machine",
		})
	}
}

// checkEntry looks at one target; first is the one that is shown.
func (c Config) checkEntry(path string, first bool, s *Status) {
	if first {
		s.ConfFile = path
	}
	file := readConf(path)
	if err := editable(file); err != nil {
		s.add(problemWith(path, CodeConflistUnreadable, err))
		return
	}
	info, err := conflist.Inspect(file.data)
	if err != nil {
		s.add(problemWith(path, CodeConflistUnreadable, err))
		return
	}
	if first {
		s.Plugins, s.network = info.Plugins, info.Name
		if len(info.Entries) > 0 {
			s.Entry = info.Entries[0]
		}
	}
	if primary := info.Primary(); primary != "" && !binary.FindType(c.BinDirs, primary) {
		s.add(&Problem{
			Code: CodePrimaryMissing, Path: path, Message: fmt.Sprintf("the binary of its first plugin, %s, is in none of the binary directories", primary),
			Cure: "name the directory where the runtime finds it with --cni-bin-dir",
		})
	}
	c.checkPlace(path, file.data, info, s)
}

func (c Config) checkPlace(path string, data []byte, info *conflist.Info, s *Status) {
	switch {
	case len(info.Own) == 0:
		s.add(&Problem{
			Code: CodeEntryMissing, Path: path, Message: "the list has no entry of type " + conflist.PluginType,
			Cure: "run enrichctl install, with --watch where something rewrites the file",
		})
		return
	case info.InFront():
		s.add(&Problem{
			Code: CodeEntryInFront, Path: path, Message: "an entry is in front of the primary plugin, where it has no Result to repair",
			Cure: "run enrichctl install, which moves it",
		})
	case len(info.Own) > 1:
		s.add(&Problem{
			Code: CodeEntrySeveral, Path: path, Note: true, Message: fmt.Sprintf("the list has %d entries; one is enough", len(info.Own)),
			Cure: "run enrichctl install, which leaves one",
		})
	}
	for _, entry := range info.Entries {
		if _, err := plugin.ParseConfig(entry); err != nil {
			s.add(&Problem{
				Code: CodeEntryRejected, Path: path, Message: fmt.Sprintf("the plugin rejects the settings of its entry: %v", err),
				Cure: "run enrichctl install with a valid --plugin-config; until then every pod fails",
			})
		}
	}
	c.checkVersion(path, data, info, s)
}

// checkVersion asks whether the installed plugins could be put into the list as it is: the list's version
// must be one of theirs.
func (c Config) checkVersion(path string, data []byte, info *conflist.Info, s *Status) {
	for _, b := range s.Binaries {
		if !b.Present || b.Error != "" {
			continue
		}
		_, err := conflist.Ensure(data, info.Entries[0], b.CNIVersions)
		var refusal *conflist.Refusal
		if errors.As(err, &refusal) {
			s.add(refused(path, refusal))
			return
		}
	}
}

// checkSame finds directories with different plugins: which one runs depends on the
// runtime.
func (c Config) checkSame(s *Status) {
	for _, b := range s.Binaries[min(1, len(s.Binaries)):] {
		if first := s.Binaries[0]; first.Present && b.Present && b.SHA256 != first.SHA256 {
			s.add(&Problem{
				Code: CodeBinaryDifferent, Path: b.Path, Note: true, Message: "this is another binary than " + first.Path,
				Cure: "run enrichctl install with every --cni-bin-dir",
			})
		}
	}
}

func (c Config) checkCaches(s *Status) {
	attachments, err := cache.Read(c.CacheDirs)
	if err != nil {
		p := cacheProblem(err)
		p.Note = true
		s.add(p)
	}
	var without, needing []string
	for _, a := range attachments {
		if a.Needs {
			needing = append(needing, a.Container)
		} else if s.network != "" && a.Network == s.network && a.Live() {
			without = append(without, a.Container)
		}
	}
	s.Needing = len(unique(needing))
	if containers := unique(without); s.Entry != nil && len(containers) > 0 {
		s.add(&Problem{
			Code: CodePodsToRestart, Path: s.ConfFile, Note: true,
			Message: fmt.Sprintf("%d running pods were started without the entry: %s", len(containers), someOf(containers)),
			Cure:    "restart them when their network-status matters",
		})
	}
	if containers := unique(needing); len(containers) > 0 && (s.Entry == nil || !anyPresent(s.Binaries)) {
		s.add(&Problem{
			Code: CodeBinaryNeeded, Note: true,
			Message: fmt.Sprintf("configurations cached for %d containers still need the plugin's binary to tear them down: %s", len(containers), someOf(containers)),
			Cure:    "leave the binary where it is (put it back if it is gone: enrichctl install) until they are deleted",
		})
	}
}

func anyPresent(binaries []binary.Installed) bool {
	for _, b := range binaries {
		if b.Present {
			return true
		}
	}
	return false
}

func someOf(names []string) string {
	text := ""
	for i, name := range names {
		switch {
		case i == maxNamed:
			return fmt.Sprintf("%s and %d more", text, len(names)-maxNamed)
		case i > 0:
			text += ", "
		}
		text += name
	}
	return text
}
