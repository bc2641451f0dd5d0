// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/result-enricher/result-enricher/enrichctl/internal/node"
)

const (
	// lookAgain is when uninstall looks whether an entry came back.
	lookAgain = 2 * time.Second
	// binaryStays is how long the binary outlives the last entry: the runtime has to notice
	// the change, and an ADD under way has to end.
	binaryStays = 5 * time.Second
	// retryTime is how long uninstall tries files that are just being written.
	retryTime = 2 * time.Second
)

type uninstall struct {
	*app
	places *places
	watch  bool
	dryRun bool
	purge  bool
	force  bool
}

func newUninstall(a *app) *cobra.Command {
	u := &uninstall{app: a, places: newPlaces()}
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Take the plugin off this node",
		Long: `uninstall takes every entry of the plugin out of the files of the configuration directory, and gives back
the bytes that were there before. The binary stays: runtimes tear a pod down with the configuration it was
started with, and a pod whose plugin is missing terminates for ever. --purge removes it too, unless
something still names it.`,
		Example: `  enrichctl uninstall
  enrichctl uninstall --purge
  enrichctl uninstall --watch`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return u.run(cmd.Context()) },
	}
	flags := cmd.Flags()
	u.places.addCommon(flags)
	u.places.addCacheDirs(flags)
	flags.BoolVar(&u.watch, "watch", false, "stay, and keep the entry out")
	flags.BoolVar(&u.dryRun, "dry-run", false, "change nothing, print a unified diff")
	flags.BoolVar(&u.purge, "purge", false, "remove the binary too, unless a configuration still names it")
	flags.BoolVar(&u.force, "force", false, "with --purge: remove it even then; pods that need it will terminate for ever")
	return cmd
}

func (u *uninstall) run(ctx context.Context) error {
	switch {
	case u.force && !u.purge:
		return usagef("--force needs --purge")
	case u.watch && (u.purge || u.dryRun):
		return usagef("--watch goes with neither --purge nor --dry-run")
	}
	remover := &node.Remover{Config: u.places.config(), Editor: node.NewEditor(u.log, node.SystemClock{})}
	loop := node.Loop{Worker: remover, Log: u.log, Clock: node.SystemClock{}, ConfDirs: remover.Config.ConfDirs()}
	switch {
	case u.dryRun:
		return u.runDry(ctx, remover)
	case u.watch:
		u.log.Info("watching: will take the entry out whenever it comes", "confDir", remover.Config.ConfDir)
		_, err := loop.Run(ctx)
		if err == nil {
			u.log.Info("stopping; nothing else changes")
		}
		return err
	}
	loop.UntilDone = true
	return u.runOnce(ctx, remover, &loop)
}

func (u *uninstall) runDry(ctx context.Context, remover *node.Remover) error {
	remover.DryRun = func(diff string) { fmt.Fprint(u.stdout, diff) }
	if u.purge {
		u.log.Info("would remove the plugin's binary, if nothing names it then", "binDirs", remover.Config.BinDirs)
	}
	return failure(remover.Pass(ctx))
}

func (u *uninstall) runOnce(ctx context.Context, remover *node.Remover, loop *node.Loop) error {
	limited, cancel := context.WithTimeout(ctx, retryTime)
	defer cancel()
	out, err := loop.Run(limited)
	if err == nil {
		err = failure(out)
	}
	if err != nil {
		return err
	}
	if remover.Removed() > 0 {
		if err := u.lookAgain(ctx, remover); err != nil {
			return err
		}
	}
	if u.purge {
		if err := u.runPurge(ctx, remover); err != nil {
			return err
		}
	}
	return u.println(u.summary(remover))
}

func (u *uninstall) lookAgain(ctx context.Context, remover *node.Remover) error {
	settled, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	remover.Settle(settled)
	if err := sleep(ctx, lookAgain); err != nil {
		return err
	}
	return remover.Returned()
}

func (u *uninstall) runPurge(ctx context.Context, remover *node.Remover) error {
	if remover.Removed() > 0 {
		if err := sleep(ctx, binaryStays-lookAgain); err != nil {
			return err
		}
	}
	if err := remover.Config.Needed(); err != nil {
		if !u.force {
			return fmt.Errorf("the binary stays, because it is still needed (--force overrides): %w", err)
		}
		u.log.Warn("removing the binary although it is still needed", "by", err)
	}
	return remover.Config.Purge(ctx, u.log)
}

func (u *uninstall) summary(remover *node.Remover) string {
	text := "No file had the entry."
	if n := remover.Removed(); n > 0 {
		text = fmt.Sprintf("Took the entry out of %d file(s): the next pod gets the Result of the primary plugin as it is.", n)
	}
	if u.purge {
		return text + " The binary is gone."
	}
	return text + " The binary stays for the pods that were started with it; --purge removes it when nothing needs it."
}

// sleep waits, unless the process is told to end: then what was to come after is left.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return errors.New("stopped by a signal; the entry is out, and what was to follow is not done")
	case <-time.After(d):
		return nil
	}
}
