// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"

	"github.com/result-enricher/result-enricher/enrichctl/internal/conflist"
)

// Remover takes the entry off the node and keeps it out. The binary stays: see Purge.
type Remover struct {
	Config Config
	*Editor

	// removed counts the files that the entry was taken out of.
	removed int
}

// Pass takes every entry out of every file, not only the runtime's: Cilium copies a
// chained list into its own file and sets the original aside.
func (r *Remover) Pass(ctx context.Context) Outcome {
	out := Outcome{Done: true}
	if out.Fatal = checkGone(r.Config.ConfDirs()); out.Fatal != nil {
		return out
	}
	if r.DryRun == nil {
		if err := sweep(ctx, r.Config.writable()); err != nil {
			r.Log.Debug("cannot remove left-over temporaries", "error", err)
		}
	}
	paths, err := r.files()
	if err != nil {
		out.fail(problemWith(r.Config.ConfDir, CodeConfDirUnreadable, err))
		return out
	}
	for _, path := range paths {
		r.clean(ctx, path, &out)
	}
	return out
}

// files gives what to look through. A directory that is not there has no entry in it.
func (r *Remover) files() ([]string, error) {
	if len(r.Config.ConfFiles) > 0 {
		return r.Config.ConfFiles, nil
	}
	paths, err := listConf(r.Config.ConfDir, append([]string{bakExt}, confExts...))
	if err != nil && problemWith("", "", err).Code == CodeConfDirMissing {
		r.Log.Warn("the configuration directory is not there", "dir", r.Config.ConfDir)
		return nil, nil
	}
	return paths, err
}

func (r *Remover) clean(ctx context.Context, path string, out *Outcome) {
	file := readConf(path)
	done, err := r.edit(ctx, path, "took the entry out of the conflist", removeEntries)
	if done.wrote {
		r.removed++
	}
	if err == nil {
		out.Contended = out.Contended || r.contended(path)
		if done.wait > 0 {
			out.Present = true
			out.again(done.wait)
			out.fail(contendedProblem(path, done.data))
		}
		if conflist.Mentions(done.data) && done.wait == 0 {
			out.fail(leftProblem(path, done.data))
		}
		return
	}
	problem := problemWith(path, CodeConflistUnwritable, err)
	// A file that is not there, or that nobody can make sense of and that does not name the
	// plugin, has no entry.
	problem.Note = problem.Code == CodeConflistMissing || problem.Code == CodeLinkUnreachable ||
		file.err == nil && !conflist.Mentions(file.data) && problem.Code != CodeConflistUnwritable
	out.Present = out.Present || !problem.Note
	out.fail(problem)
}

// leftProblem tells of a mention of the plugin that is no entry of a list.
func leftProblem(path string, data []byte) *Problem {
	if _, err := conflist.InspectMultus(data); err != nil {
		return &Problem{
			Code: CodeEntryElsewhere, Path: path, Note: true,
			Message: "it names the plugin, but not as an entry of a list, and is left alone", Cure: "take it out by hand",
		}
	}
	return &Problem{
		Code: CodeMultusStale, Path: path, Note: true,
		Message: "it has a copy of a list with the entry, which multus goes on using",
		Cure:    "restart multus, so that it copies the list again, or have its clusterNetwork name the conflist",
	}
}

// Watch gives the directories of the conflists.
func (r *Remover) Watch() []string { return r.Config.confPlaces() }

// Removed gives the number of files that the entry was taken out of.
func (r *Remover) Removed() int { return r.removed }

// Returned looks whether an entry is there again, and says what that means.
func (r *Remover) Returned() error {
	paths, err := r.files()
	if err != nil {
		return err
	}
	for _, path := range paths {
		file := readConf(path)
		if file.err != nil {
			continue // Pass has told
		}
		if _, n, err := conflist.Remove(file.data); err == nil && n > 0 {
			return &Problem{
				Code: CodeContended, Path: path,
				Message: "something has put the entry back; an install --watch still runs here",
				Cure:    "stop it (the DaemonSet or the service), or keep the entry out with uninstall --watch",
			}
		}
	}
	return nil
}
