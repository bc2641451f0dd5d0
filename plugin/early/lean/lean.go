// SPDX-License-Identifier: Apache-2.0

// Package lean fits the Go runtime to a process of a millisecond that does one
// thing after the other. It is for the plugin's main package to import, and touches
// the runtime only.
//
// The convention it relies on is the order of initialization, as package early
// does: what has no import but runtime comes among the first. Later there would be
// caches to flush and a stack to move, which costs a good part of what is gained.
package lean

import "runtime"

func init() {
	// With a second processor, every goroutine that the initialization of os, net
	// and unique starts for later would wake a thread that finds nothing to do.
	runtime.GOMAXPROCS(1)
	growStack(false)
}

// growStack makes the stack as large as decoding needs it, while there is next to
// nothing on it: the runtime makes room for all that the function which is entered
// may use (newstack), and would double the stack several times otherwise.
//
//go:noinline
func growStack(used bool) (sum int) {
	if used {
		var room [16 << 10]byte
		for i := range room {
			sum += int(room[i] ^ byte(i))
		}
	}
	return sum
}
