// SPDX-License-Identifier: Apache-2.0

// Command enrichctl puts the CNI plugin result-enricher onto a node, takes it off again,
// and tells how the node stands and what a Result is worth.
//
// There is one file per subcommand; each only reads its flags and prints. What is done is in
// the packages below internal/.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// version is set by the build.
var version = "(unknown version)"

func main() {
	// A second signal kills.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, &app{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv,
	}, os.Args[1:]))
}
