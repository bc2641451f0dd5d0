// SPDX-License-Identifier: Apache-2.0

// Command demo shows on a real chain what result-enricher does. It runs the project's upstream plugin, which does and
// answers what Calico up to v3.30 does, once alone and once with result-enricher behind it, through libcni, and prints
// both Results, the repairs, and the network-status that multus would write from each.
//
// Everything happens in network and mount namespaces of its own (package isolate): nothing of the machine is touched,
// and nothing stays behind. The exit code is 0 only when everything shown is as it must be.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/result-enricher/result-enricher/e2e/internal/binaries"
	"github.com/result-enricher/result-enricher/internal/isolate"
)

func main() {
	plugin := flag.String("plugin", "", "the result-enricher `binary` to run; empty: build it")
	flag.Parse()

	stage := func(dir string) error {
		if err := binaries.Build(dir, binaries.CalicoShaped); err != nil {
			return err
		}
		if *plugin == "" {
			return binaries.BuildPlugin(dir)
		}
		source, err := filepath.Abs(*plugin)
		if err != nil {
			return fmt.Errorf("find the plugin: %w", err)
		}
		if _, err := os.Stat(source); err != nil {
			return fmt.Errorf("find the plugin (make build makes it): %w", err)
		}
		return os.Symlink(source, filepath.Join(dir, enricherType))
	}
	run := func(dir string) int {
		screen := newScreen(os.Stdout, os.Getenv)
		if err := tell(context.Background(), dir, screen); err != nil {
			fmt.Fprintln(os.Stderr, "demo:", err)
			return 1
		}
		return 0
	}
	code, err := isolate.Main(stage, run)
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
	}
	os.Exit(code)
}
