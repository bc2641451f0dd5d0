// SPDX-License-Identifier: Apache-2.0

// Command pause is the only program in the image of the test cluster's pods and
// their sandboxes: it waits to be told to stop, and reaps orphans.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	// Children of process 1 that nobody waits for: the kernel buries them.
	signal.Ignore(syscall.SIGCHLD)
	<-stop
}
