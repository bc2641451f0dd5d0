// SPDX-License-Identifier: Apache-2.0

// Package early is what the plugin's binary does before the rest of it is
// initialized. It is for the plugin's main package to import, and touches the
// environment and the Go runtime only.
//
// It ends DEL, GC and STATUS: nothing of the rest, not even a fault in the
// initialization of a dependency, can make a teardown fail or a node NotReady. And
// it leaves the other commands a single processor: they do one thing after the
// other, and the goroutines that os, net and unique start for later would only wake
// threads to look for work.
//
// The convention it relies on is the order that the Go specification gives to
// initialization: of the packages whose imports are initialized, the first by
// import path is next. This one needs runtime and syscall alone, and so comes before
// os, net and all that need them. Should the order ever change, package plugin ends
// the same commands at the start of its Main.
package early

import (
	"runtime"
	"syscall"
)

func init() {
	switch command, _ := syscall.Getenv("CNI_COMMAND"); command {
	case "DEL", "GC", "STATUS":
		syscall.Exit(0)
	}
	runtime.GOMAXPROCS(1)
}
