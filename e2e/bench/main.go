// SPDX-License-Identifier: Apache-2.0

// Command bench measures whole processes: what one call of the plugin costs
// beside an empty Go program, a plugin that hands prevResult on, and reference
// plugins; how that grows with the node, the pod and the load; and what keeping
// the entry in place costs. It prints tables for a person, and writes them to a
// file for comparison.
//
// All programs of a table run in turn in one run, on the same machine in the
// same minute, and only ratios of their medians are compared with bounds. What
// is counted is the processor time that the kernel charged to the process.
//
// It runs in namespaces of its own (package isolate); nothing of the machine is
// touched.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/result-enricher/result-enricher/e2e/internal/binaries"
	"github.com/result-enricher/result-enricher/internal/isolate"
)

const (
	empty       = "github.com/result-enricher/result-enricher/e2e/bench/empty"
	passthrough = "github.com/result-enricher/result-enricher/e2e/bench/passthrough"
	sbr         = "github.com/containernetworking/plugins/plugins/meta/sbr"
)

func main() {
	bin := flag.String("bin", "../bin", "the `directory` with result-enricher and enrichctl")
	out := flag.String("out", "", "also write the tables to this `file`")
	rounds := flag.Int("rounds", 200, "how often each program runs")
	flag.Parse()

	stage := func(dir string) error { return install(dir, *bin) }
	code, err := isolate.Main(stage, func(dir string) int {
		if err := run(dir, *out, *rounds); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			return 1
		}
		return 0
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	os.Exit(code)
}

// install puts all programs into dir, each as a copy: that is how they come onto a
// node, and the page cache of a file that the linker has just written is of
// smaller pieces, which shows.
func install(dir, bin string) error {
	built := filepath.Join(dir, "built")
	if err := os.Mkdir(built, 0o755); err != nil {
		return fmt.Errorf("make a directory: %w", err)
	}
	if err := binaries.Build(built, empty, passthrough, binaries.Tuning, binaries.Bandwidth, sbr); err != nil {
		return err
	}
	for _, from := range []string{built, bin} {
		files, err := os.ReadDir(from)
		if err != nil {
			return fmt.Errorf("list the programs: %w", err)
		}
		for _, f := range files {
			content, err := os.ReadFile(filepath.Join(from, f.Name()))
			if err != nil {
				return fmt.Errorf("read a program: %w", err)
			}
			if err := os.WriteFile(filepath.Join(dir, f.Name()), content, 0o755); err != nil {
				return fmt.Errorf("install a program: %w", err)
			}
		}
	}
	return nil
}

// run measures everything and prints it as it goes.
func run(dir, out string, rounds int) error {
	w := io.Writer(os.Stdout)
	if out != "" {
		file, err := os.Create(out)
		if err != nil {
			return fmt.Errorf("open the file for the tables: %w", err)
		}
		defer file.Close()
		w = io.MultiWriter(w, file)
	}
	for _, table := range []func(io.Writer, string, int) error{commands, scale, rush, watch} {
		if err := table(w, dir, rounds); err != nil {
			return err
		}
	}
	return nil
}
