// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/result-enricher/result-enricher/enrichctl/internal/binary"
	"github.com/result-enricher/result-enricher/enrichctl/internal/conflist"
	"github.com/result-enricher/result-enricher/enrichctl/internal/metrics"
	"github.com/result-enricher/result-enricher/enrichctl/internal/node"
)

// settleTime bounds how long a command waits for a primary that has the replaced file open.
const settleTime = 10 * time.Second

type install struct {
	*app
	places  *places
	binary  pathValue
	entry   entryValue
	watch   bool
	dryRun  bool
	timeout waitValue
	metrics addressValue
	output  *outputValue
}

func newInstall(a *app) *cobra.Command {
	i := &install{app: a, places: newPlaces(), output: newOutput("text", "json")}
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Put the plugin onto this node",
		Long: `install copies the plugin's binary into every binary directory and appends its entry to the conflist that
pods get: the first file of the configuration directory that is not multus's. It changes nothing else in the
file, and nothing at all when everything is in place. It never creates a conflist.

With --watch it stays and puts binary and entry back whenever the primary rewrites its file.`,
		Example: `  enrichctl install
  enrichctl install --dry-run
  enrichctl install --watch --metrics-address :9470
  enrichctl install --plugin-config '{"gateways": true}'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return i.run(cmd) },
	}
	if err := i.entry.Set("{}"); err != nil {
		panic(err) // no input is involved
	}
	flags := cmd.Flags()
	i.places.addCommon(flags)
	flags.Var(&i.binary, "plugin-binary", "binary to install (default: result-enricher beside enrichctl)")
	flags.Var(&i.entry, "plugin-config", "settings of the plugin, merged into its entry")
	flags.BoolVar(&i.watch, "watch", false, "stay, and keep it so")
	flags.Var(&i.timeout, "timeout", "how long to wait for the primary's conflist; 0: now or fail")
	flags.Var(&i.metrics, "metrics-address", "with --watch: serve /metrics, /healthz and /readyz there; without a host on 127.0.0.1 (default: off)")
	flags.BoolVar(&i.dryRun, "dry-run", false, "change nothing, print a unified diff")
	flags.VarP(i.output, "output", "o", "text or json (the status afterwards)")
	return cmd
}

func (i *install) check(cmd *cobra.Command) error {
	flags := cmd.Flags()
	switch {
	case i.watch && flags.Changed("timeout"):
		return usagef("--timeout and --watch exclude each other: --watch waits for ever")
	case i.watch && i.dryRun:
		return usagef("--dry-run and --watch exclude each other")
	case !i.watch && flags.Changed("metrics-address"):
		return usagef("--metrics-address needs --watch")
	case i.output.text == "json" && (i.dryRun || i.watch):
		return usagef("-o json goes with neither --dry-run, whose output is a diff, nor --watch")
	}
	return nil
}

func (i *install) run(cmd *cobra.Command) error {
	if err := i.check(cmd); err != nil {
		return err
	}
	ctx := cmd.Context()
	if i.binary.path == "" {
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("find result-enricher beside enrichctl (name it with --plugin-binary): %w", err)
		}
		i.binary.path = filepath.Join(filepath.Dir(self), conflist.PluginType)
	}
	source, err := binary.Open(ctx, i.binary.path)
	if err != nil {
		return i.unlessStopped(ctx, err)
	}
	installer := &node.Installer{
		Config: i.places.config(), Entry: i.entry.entry, Source: source, Once: !i.watch,
		Editor: node.NewEditor(i.log, node.SystemClock{}),
	}
	switch {
	case i.dryRun:
		return i.runDry(ctx, installer)
	case i.watch:
		return i.runWatch(ctx, installer)
	default:
		return i.runOnce(ctx, installer)
	}
}

// unlessStopped drops the error of a watching process that was told to end before anything began.
func (i *install) unlessStopped(ctx context.Context, err error) error {
	select {
	case <-ctx.Done():
		if i.watch {
			return nil
		}
	default:
	}
	return err
}

func (i *install) runDry(ctx context.Context, installer *node.Installer) error {
	installer.DryRun = func(diff string) { fmt.Fprint(i.stdout, diff) }
	return failure(installer.Pass(ctx))
}

func (i *install) runOnce(ctx context.Context, installer *node.Installer) error {
	out, err := i.wait(ctx, installer)
	if err != nil {
		return err
	}
	settled, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	installer.Settle(settled)
	for _, p := range out.Problems {
		i.log.Warn(p.Message, "code", p.Code, "path", p.Path, "cure", p.Cure)
	}
	status := installer.Config.Status(ctx)
	if i.output.text == "json" {
		return i.printJSON(status)
	}
	return i.println(nextPod(status))
}

// wait makes one pass, or repeats it for as long as --timeout allows.
func (i *install) wait(ctx context.Context, installer *node.Installer) (node.Outcome, error) {
	if i.timeout.wait == 0 {
		out := installer.Pass(ctx)
		return out, failure(out)
	}
	limited, cancel := context.WithTimeout(ctx, i.timeout.wait)
	defer cancel()
	loop := node.Loop{
		Worker: installer, Log: i.log, Clock: node.SystemClock{}, ConfDirs: installer.Config.ConfDirs(), UntilDone: true,
	}
	out, err := loop.Run(limited)
	switch {
	case err != nil:
		return out, err
	case out.Done:
		return out, nil
	case ctx.Err() != nil:
		return out, errors.New("stopped by a signal before the plugin was installed; nothing is half done")
	}
	return out, fmt.Errorf("waited %s (--timeout): %w", i.timeout.wait, failure(out))
}

func (i *install) runWatch(ctx context.Context, installer *node.Installer) error {
	i.sayFound(ctx, installer)
	loop := node.Loop{Worker: installer, Log: i.log, Clock: node.SystemClock{}, ConfDirs: installer.Config.ConfDirs()}
	told := false
	var serve func(node.Outcome)
	if i.metrics.address != "" {
		m := metrics.New(time.Now)
		go metrics.Serve(ctx, i.metrics.address, m.Handler(), i.log)
		serve = m.Record
	}
	loop.Observe = func(out node.Outcome) {
		if serve != nil {
			serve(out)
		}
		if out.Done && !told {
			told = true
			if err := i.println(nextPod(installer.Config.Status(ctx))); err != nil {
				i.log.Warn(err.Error())
			}
		}
	}
	_, err := loop.Run(ctx)
	if err == nil {
		i.log.Info("stopping; binary and entry stay")
	}
	return err
}

// sayFound tells at the start how things are and what will be done about it.
func (i *install) sayFound(ctx context.Context, installer *node.Installer) {
	status := installer.Config.Probe(ctx)
	var found []string
	for _, p := range status.Problems {
		found = append(found, p.Code)
	}
	if len(found) == 0 {
		found = []string{"everything in place"}
	}
	i.log.Info("watching: will copy the binary into every binary directory, put the entry into the conflist, and put both back whenever they go",
		"version", version, "confFile", status.ConfFile, "confDir", installer.Config.ConfDir, "binDirs", installer.Config.BinDirs,
		"plugins", status.Plugins, "entry", string(installer.Entry), "found", found)
}

// failure gives the error of a pass.
func failure(out node.Outcome) error {
	if out.Fatal != nil {
		return out.Fatal
	}
	if out.Done {
		return nil
	}
	return out.Err()
}
