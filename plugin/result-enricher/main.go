// SPDX-License-Identifier: Apache-2.0

// Command result-enricher is the CNI plugin; see package plugin.
//
// Every pod's start waits for it. A process of a millisecond has no use for a second
// processor, nor for a look at the limits of its cgroup every second, nor for a
// thread that is there to start others in the right namespace, nor for a stack that
// grows step by step.
//
//go:debug updatemaxprocs=0
package main

import (
	"os"

	"github.com/result-enricher/result-enricher/enrich/sandbox"
	"github.com/result-enricher/result-enricher/plugin"
	_ "github.com/result-enricher/result-enricher/plugin/early"      // DEL, GC and STATUS end there
	_ "github.com/result-enricher/result-enricher/plugin/early/lean" // the runtime, for a short life
)

// version is set by the build.
var version = "(unknown version)"

// init does all of the work: sandbox.OpenInInit is for initializers.
func init() {
	os.Exit(plugin.Main(plugin.Process{
		Getenv: os.Getenv, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: plugin.Descriptor(2),
		Open: sandbox.OpenInInit, Version: version,
	}))
}

func main() {}
