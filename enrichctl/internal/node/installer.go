// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/result-enricher/result-enricher/enrichctl/internal/binary"
	"github.com/result-enricher/result-enricher/enrichctl/internal/conflist"
)

// Installer puts the plugin onto the node.
type Installer struct {
	Config Config
	// Entry is what goes into the conflist.
	Entry  []byte
	Source *binary.Source
	// Once: the command is to succeed or to leave the node as it was, so the binary waits
	// until the conflist can be edited. Else it is there before anybody needs it.
	Once bool
	*Editor

	// installed: the binaries were put in place once. From then on a different one is
	// somebody else's decision.
	installed bool
	// targets are the files that got the entry, as long as they are targets.
	targets []string
}

// Pass brings the node one step: binaries, then conflists.
func (in *Installer) Pass(ctx context.Context) Outcome {
	out := Outcome{Done: true, Present: true}
	if out.Fatal = checkGone(append(in.Config.ConfDirs(), in.Config.BinDirs...)); out.Fatal != nil {
		return out
	}
	if in.DryRun == nil {
		if err := sweep(ctx, in.Config.writable()); err != nil {
			in.Log.Debug("cannot remove left-over temporaries", "error", err)
		}
	}
	if in.Once && !in.possible(&out) {
		return out
	}
	usable := in.binaries(ctx, &out)
	if !in.installed {
		// Nothing was promised yet: leave the conflists as they are.
		out.Fatal = out.Err()
		out.Present = false
		return out
	}
	paths, err := in.Config.targets()
	if err != nil {
		out.Present = false
		out.fail(problemWith(in.Config.ConfDir, CodeConfDirUnreadable, err))
		return out
	}
	decided := true
	for _, path := range paths {
		if usable {
			decided = in.ensure(ctx, path, &out) && decided
		} else {
			in.withdraw(ctx, path, &out)
		}
	}
	if usable && decided {
		in.leaveFormer(ctx, paths, &out)
	}
	return out
}

// possible reports whether every target could be edited now.
func (in *Installer) possible(out *Outcome) bool {
	paths, err := in.Config.targets()
	if err != nil {
		in.missed(problemWith(in.Config.ConfDir, CodeConfDirUnreadable, err), out)
		return false
	}
	for _, path := range paths {
		file := readConf(path)
		err := editable(file)
		if err == nil {
			_, err = in.wanted(path)(file.data)
		}
		if err != nil {
			in.missed(problemWith(path, CodeConflistUnreadable, err), out)
		}
	}
	return out.Done
}

// binaries sees to every directory. It returns false when an entry would be worse than
// none: the runtime would find no plugin and every pod would fail.
func (in *Installer) binaries(ctx context.Context, out *Outcome) (usable bool) {
	usable = true
	complete := true
	for _, dir := range in.Config.BinDirs {
		state, err := in.Source.Check(dir)
		switch {
		case err == nil && state == binary.Equal:
			continue
		case err == nil && state == binary.Different && in.installed:
			out.fail(&Problem{
				Code: CodeBinaryDifferent, Path: filepath.Join(dir, conflist.PluginType), Note: true,
				Message: "another binary has taken the place of the installed one; it is left alone",
				Cure:    "start enrichctl again with the binary that is wanted",
			})
			continue
		case err == nil && in.DryRun != nil:
			in.Log.Info("would install the plugin's binary", "dir", dir, "from", in.Source.Path)
			continue
		case err == nil:
			var changed bool
			if changed, err = in.Source.Install(ctx, dir); changed {
				out.Restored++
				in.Log.Info("installed the plugin's binary", "dir", dir, "from", in.Source.Path)
			}
		}
		if err != nil {
			complete = false
			usable = usable && state != binary.Missing
			out.Present = false
			out.fail(binDirProblem(dir, err))
		}
	}
	in.installed = in.installed || complete
	return usable
}

func binDirProblem(dir string, err error) *Problem {
	return &Problem{
		Code: CodeBinDirUnusable, Path: dir, Temporary: true,
		Message: fmt.Sprintf("cannot put the plugin's binary there: %v", err), Cure: cureOf(err),
	}
}

// ensure puts the entry into one file. It returns false when it is not yet known
// whether the file is the target: its owner may be writing it.
func (in *Installer) ensure(ctx context.Context, path string, out *Outcome) (decided bool) {
	if err := editable(readConf(path)); err != nil {
		return in.missed(problemWith(path, CodeConflistUnreadable, err), out)
	}
	done, err := in.edit(ctx, path, "put the entry into the conflist", in.wanted(path))
	if done.wrote {
		out.Inserted++
	}
	out.Contended = out.Contended || in.contended(path)
	switch {
	case err != nil:
		return in.missed(problemWith(path, CodeConflistUnwritable, err), out)
	case done.wait > 0:
		out.again(done.wait)
		return in.missed(contendedProblem(path, done.data), out)
	}
	if !slices.Contains(in.targets, path) {
		in.targets = append(in.targets, path)
	}
	return true
}

func (in *Installer) missed(problem *Problem, out *Outcome) (decided bool) {
	out.Present = false
	out.fail(problem)
	return !problem.Temporary
}

// wanted is the Edit for a target.
func (in *Installer) wanted(path string) func([]byte) ([]byte, error) {
	return func(old []byte) ([]byte, error) {
		edited, err := conflist.Ensure(old, in.Entry, in.Source.Supported)
		if err != nil || len(edited) == len(old) && string(edited) == string(old) {
			return edited, err
		}
		info, err := conflist.Inspect(old)
		if err != nil {
			return nil, err
		}
		if primary := info.Primary(); !binary.FindType(in.Config.BinDirs, primary) {
			return nil, &Problem{
				Code: CodePrimaryMissing, Path: path, Temporary: true,
				Message: fmt.Sprintf("the binary of its first plugin, %s, is in none of the binary directories, so the runtime looks elsewhere", primary),
				Cure:    "name the directory that has it with --cni-bin-dir, or wait for its installer",
			}
		}
		return edited, nil
	}
}

// withdraw takes the entry out as long as the binary is gone and cannot be put back.
func (in *Installer) withdraw(ctx context.Context, path string, out *Outcome) {
	if in.DryRun != nil {
		return
	}
	done, err := in.edit(ctx, path, "took the entry out, because the plugin's binary is missing and cannot be put back", removeEntries)
	if err != nil {
		out.fail(problemWith(path, CodeConflistUnwritable, err))
	}
	if done.wait > 0 {
		out.again(done.wait)
	}
}

// leaveFormer takes the entry out of files that have ceased to be targets.
func (in *Installer) leaveFormer(ctx context.Context, paths []string, out *Outcome) {
	kept := in.targets[:0]
	for _, path := range in.targets {
		if slices.Contains(paths, path) {
			kept = append(kept, path)
			continue
		}
		_, err := in.edit(ctx, path, "took the entry out of the former target", removeEntries)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		problem := problemWith(path, CodeConflistUnwritable, err)
		kept = append(kept, path)
		problem.Note = true
		out.fail(problem)
	}
	in.targets = kept
}

// Watch gives the directories of the conflists and of the binaries.
func (in *Installer) Watch() []string { return in.Config.writable() }

// Target gives the file that has the entry, or is to have it; "" when there is none.
func (in *Installer) Target() string {
	paths, err := in.Config.targets()
	if err != nil || len(paths) == 0 {
		return ""
	}
	return paths[0]
}
