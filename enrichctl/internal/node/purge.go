// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"

	"github.com/result-enricher/result-enricher/enrichctl/internal/binary"
	"github.com/result-enricher/result-enricher/enrichctl/internal/cache"
	"github.com/result-enricher/result-enricher/enrichctl/internal/conflist"
)

// maxNamed bounds how many files and containers one message names.
const maxNamed = 5

// Needed says why the binary has to stay: files of the configuration directory, and
// configurations cached for containers, dead ones too, that name it. A runtime that finds no
// binary for one of them cannot tear the pod down, ever. The error is nil when nothing
// needs it.
func (c Config) Needed() error {
	var errs []error
	paths, err := listConf(c.ConfDir, append([]string{bakExt}, confExts...))
	if err != nil && problemWith("", "", err).Code != CodeConfDirMissing {
		errs = append(errs, err)
	}
	for _, path := range unique(append(paths, c.ConfFiles...)) {
		file := readConf(path)
		switch {
		case errors.Is(file.err, fs.ErrNotExist): // gone, or a link to nothing
		case file.err != nil:
			errs = append(errs, problemWith(path, CodeConflistUnreadable, file.err))
		case conflist.Mentions(file.data):
			errs = append(errs, &Problem{
				Code: CodeBinaryNeeded, Path: path, Message: "the file names the plugin",
				Cure: "take it out there first, or restart what copied it (multus)",
			})
		}
	}
	attachments, err := cache.Read(c.CacheDirs)
	if err != nil {
		errs = append(errs, cacheProblem(err))
	}
	named := 0
	for _, a := range attachments {
		if !a.Needs {
			continue
		}
		if named++; named > maxNamed {
			continue
		}
		errs = append(errs, &Problem{
			Code: CodeBinaryNeeded, Path: a.Path,
			Message: fmt.Sprintf("the configuration cached for container %s names the plugin", a.Container),
			Cure:    "delete the pod first, or remove the file when its container is gone for good",
		})
	}
	if more := named - maxNamed; more > 0 {
		errs = append(errs, fmt.Errorf("and %d more cached configurations", more))
	}
	return errors.Join(errs...)
}

func cacheProblem(err error) *Problem {
	return &Problem{
		Code: CodeCacheUnreadable, Message: fmt.Sprintf("cached configurations cannot be read: %v", err),
		Cure: "run as root, or name the directories with --cache-dir",
	}
}

// Purge removes the plugin's binary from every directory. Ask Needed first.
func (c Config) Purge(ctx context.Context, log *slog.Logger) error {
	var errs []error
	for _, dir := range c.BinDirs {
		removed, err := binary.Remove(ctx, dir)
		if err != nil {
			errs = append(errs, &Problem{
				Code: CodeBinDirUnusable, Path: dir,
				Message: fmt.Sprintf("cannot remove the plugin's binary: %v", err), Cure: cureOf(err),
			})
		}
		if removed {
			log.Info("removed the plugin's binary", "path", filepath.Join(dir, conflist.PluginType))
		}
	}
	return errors.Join(errs...)
}
