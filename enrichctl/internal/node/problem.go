// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/result-enricher/result-enricher/enrichctl/internal/conflist"
	"github.com/result-enricher/result-enricher/enrichctl/internal/swap"
)

// Codes of a Problem, beside those of a conflist.Refusal. They are stable: programs
// compare them, the README lists them.
const (
	CodeConfDirMissing     = "conf-dir-missing"
	CodeConfDirUnreadable  = "conf-dir-unreadable"
	CodeConflistMissing    = "conflist-missing"
	CodeConflistUnreadable = "conflist-unreadable"
	CodeConflistUnwritable = "conflist-unwritable"
	CodeLinkUnreachable    = "link-unreachable"
	CodeMultusFile         = "multus-file"
	CodePrimaryMissing     = "primary-binary-missing"
	CodeContended          = "contended"
	CodeEntryMissing       = "entry-missing"
	CodeEntrySeveral       = "entry-several"
	CodeEntryInFront       = "entry-in-front"
	CodeEntryRejected      = "entry-rejected"
	CodeEntryElsewhere     = "entry-elsewhere"
	CodeBinDirUnusable     = "bin-dir-unusable"
	CodeBinaryMissing      = "binary-missing"
	CodeBinaryBroken       = "binary-broken"
	CodeBinaryDifferent    = "binary-different"
	CodeRuntimeFileMissing = "runtime-file-missing"
	CodeRuntimeFileBroken  = "runtime-file-broken"
	CodeRuntimeFileOther   = "runtime-file-other"
	CodeMultusStale        = "multus-stale"
	CodeMultusOther        = "multus-other-network"
	CodeNeighbourBroken    = "neighbour-broken"
	CodePodsToRestart      = "pods-to-restart"
	CodeBinaryNeeded       = "binary-still-needed"
	CodeCacheUnreadable    = "cache-unreadable"
)

// Problem is something that is not as it should be, and what to do about it.
type Problem struct {
	Code    string `json:"code"`
	Path    string `json:"path"`
	Message string `json:"message"`
	Cure    string `json:"cure"`

	// Temporary: it may pass by itself, as when a file is just being written.
	Temporary bool `json:"-"`
	// Note: pods that are started now get repaired Results all the same.
	Note bool `json:"-"`
}

// Error says all of it in one line.
func (p *Problem) Error() string {
	text := p.Message
	if p.Path != "" {
		text = p.Path + ": " + text
	}
	if p.Cure != "" {
		text += "; " + p.Cure
	}
	return fmt.Sprintf("%s (%s)", text, p.Code)
}

// problemWith makes a Problem of what went wrong with a conflist; code is for errors that
// have none of their own.
func problemWith(path, code string, err error) *Problem {
	var problem *Problem
	var refusal *conflist.Refusal
	var link *swap.LinkError
	switch {
	case errors.As(err, &problem):
		return problem
	case errors.As(err, &refusal):
		return refused(path, refusal)
	case errors.As(err, &link):
		return &Problem{
			Code: CodeLinkUnreachable, Path: path, Temporary: true,
			Message: fmt.Sprintf("it is a symbolic link to %s, which cannot be seen from here", link.Missing),
			Cure:    fmt.Sprintf("in a container, mount the directory %s at the same path; else wait for its owner to write it", link.Mount()),
		}
	case errors.Is(err, fs.ErrNotExist):
		return &Problem{
			Code: CodeConflistMissing, Path: path, Temporary: true,
			Message: "the file is not there", Cure: "wait for the primary plugin to write it, or name another one with --conf-file",
		}
	case errors.Is(err, swap.ErrBusy):
		return &Problem{
			Code: CodeConflistUnwritable, Path: path, Temporary: true,
			Message: "the file changes faster than it can be edited", Cure: "find out which agents write it and stop one of them",
		}
	}
	return &Problem{Code: code, Path: path, Message: err.Error(), Cure: cureOf(err), Temporary: true}
}

// refused gives the reason of package conflist, whose sentences say what is wrong and then, behind a
// semicolon, what to do.
func refused(path string, refusal *conflist.Refusal) *Problem {
	message, cure, found := strings.Cut(refusal.Detail, "; ")
	if !found {
		cure = "correct the file, or name another one with --conf-file"
	}
	return &Problem{Code: refusal.Code, Path: path, Message: message, Cure: cure, Temporary: refusal.Temporary}
}
