// SPDX-License-Identifier: Apache-2.0

// Command result-enricher is the CNI plugin; see package plugin.
package main

import (
	"os"

	"github.com/result-enricher/result-enricher/plugin"
	_ "github.com/result-enricher/result-enricher/plugin/early" // DEL, GC and STATUS end there
)

// version is set by the build.
var version = "(unknown version)"

func main() {
	os.Exit(plugin.Main(plugin.Process{
		Getenv: os.Getenv, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: plugin.Descriptor(2), Version: version,
	}))
}
