// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// Exit codes.
const (
	exitGood = iota
	exitFailed
	exitUsage
)

// app is what the subcommands share: the process's surroundings, so that they never reach for
// os.Stdout themselves, and the flags that all of them have.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string

	logLevel levelValue
	log      *slog.Logger
}

// usageError is a mistake in how the command was called: exit code 2.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// run is main with everything given, for tests.
func run(ctx context.Context, a *app, args []string) int {
	a.setLog()
	root := newRoot(a)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitGood
	}
	var usage usageError
	if errors.As(err, &usage) {
		a.log.Error(err.Error() + "; see enrichctl --help")
		return exitUsage
	}
	a.log.Error(err.Error())
	return exitFailed
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "enrichctl",
		Short: "Put result-enricher onto a node, and see what it does there",
		Long: `enrichctl puts the CNI plugin result-enricher onto a node, takes it off again, and tells how the
node stands.

Every flag can be given as an environment variable: ENRICHCTL_ and its name in capitals, with _ for -,
lists separated by colons (ENRICHCTL_CNI_BIN_DIR=/opt/cni/bin:/usr/libexec/cni). A flag counts before a
variable. The exit code is 0 for good, 1 for failed, 2 for a mistake in the call.`,
		Example:       "  enrichctl install\n  enrichctl status\n  enrichctl uninstall",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("there is no command %q", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			cmd.SetOut(a.stderr)
			return errors.Join(usagef("name a command"), cmd.Help())
		},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := readEnvironment(cmd.Flags(), a.getenv); err != nil {
				return err
			}
			a.setLog()
			return nil
		},
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.PersistentFlags().Var(&a.logLevel, "log-level", "debug, info, warn or error")
	root.AddCommand(newInstall(a), newUninstall(a), newStatus(a), newVersion(a), newExplain(a), newShow(a))
	return root
}

// noArgs is cobra.NoArgs with our exit code.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no arguments, and got %q", cmd.CommandPath(), strings.Join(args, " "))
	}
	return nil
}

// setLog makes the logger: text for a person's terminal, JSON for whatever collects logs.
func (a *app) setLog() {
	options := &slog.HandlerOptions{Level: a.logLevel.level}
	if f, ok := a.stderr.(*os.File); ok && isTerminal(f) {
		a.log = slog.New(slog.NewTextHandler(a.stderr, options))
		return
	}
	a.log = slog.New(slog.NewJSONHandler(a.stderr, options))
}

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
