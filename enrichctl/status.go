// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/result-enricher/result-enricher/enrichctl/internal/conflist"
	"github.com/result-enricher/result-enricher/enrichctl/internal/node"
)

// errNotReady is status's exit code 1. The output has said why.
var errNotReady = errors.New("the next pod does not get a repaired Result; the problems above say what to do")

func newStatus(a *app) *cobra.Command {
	places := newPlaces()
	output := newOutput("text", "json")
	probe := false
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Will the next pod be right, and if not, what do I do?",
		Long: `status looks at the binaries, the conflist, what the runtime loads, multus's copies and the cached
configurations, and exits with 0 only when pods that are started now get repaired Results. It changes nothing.`,
		Example: `  enrichctl status
  enrichctl status -o json
  enrichctl status --probe`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config := places.config()
			look := config.Status
			if probe {
				look = config.Probe
			}
			status := look(cmd.Context())
			var err error
			if output.text == "json" {
				err = a.printJSON(status)
			} else {
				err = writeStatus(a.stdout, status)
			}
			if err == nil && !status.Ready {
				err = errNotReady
			}
			return err
		},
	}
	flags := cmd.Flags()
	places.addCommon(flags)
	places.addRuntimeDir(flags)
	places.addCacheDirs(flags)
	flags.BoolVar(&probe, "probe", false, "binary and entry only: cheap, for readiness")
	flags.VarP(output, "output", "o", "text or json")
	return cmd
}

// writeStatus writes a short table, the problems, and one sentence.
func writeStatus(w io.Writer, s node.Status) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name, value string) { fmt.Fprintf(table, "%s\t%s\n", name, value) }
	for _, b := range s.Binaries {
		row("binary", b.Path+"\t"+binaryWord(b.Present, b.Error, b.Version))
	}
	row("conflist", orNone(s.ConfFile)+"\t"+strings.Join(s.Plugins, ", "))
	if s.RuntimeFile != s.ConfFile && s.RuntimeFile != "" {
		row("runtime loads", s.RuntimeFile+"\t")
	}
	entry := "none"
	if s.Entry != nil {
		entry = string(s.Entry)
	}
	row("entry", entry+"\t")
	if s.Needing > 0 {
		row("pods that need the binary", fmt.Sprintf("%d\t", s.Needing))
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	var text strings.Builder
	for _, p := range s.Problems {
		kind := "problem"
		if p.Note {
			kind = "note"
		}
		fmt.Fprintf(&text, "\n%s %s %s\n  %s\n  to do: %s\n", kind, p.Code, p.Path, p.Message, p.Cure)
	}
	fmt.Fprintf(&text, "\n%s\n", nextPod(s))
	if _, err := io.WriteString(w, text.String()); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

func binaryWord(present bool, err, version string) string {
	switch {
	case !present:
		return "missing"
	case err != "":
		return "does not run"
	case version == "":
		return "runs"
	}
	return version
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

// nextPod says in one sentence what a pod gets that is started now.
func nextPod(s node.Status) string {
	if s.Ready {
		var others []string
		for _, t := range s.Plugins {
			if t != conflist.PluginType {
				others = append(others, t)
			}
		}
		return fmt.Sprintf("The next pod gets a repaired Result: %s runs in %s with %s.",
			conflist.PluginType, s.ConfFile, strings.Join(others, ", "))
	}
	for _, p := range s.Problems {
		if !p.Note {
			return fmt.Sprintf("The next pod does not get a repaired Result (%s): %s.", p.Code, p.Cure)
		}
	}
	return "The next pod does not get a repaired Result."
}
