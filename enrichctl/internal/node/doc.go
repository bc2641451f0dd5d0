// SPDX-License-Identifier: Apache-2.0

// Package node brings one node to the state that was asked for and keeps it there:
// the plugin's binary in the binary directories and one entry in the conflist, or no entry at
// all. It also tells how the node stands.
//
// It touches the conflists and the plugin's binary, through packages swap and binary; it
// reads the caches of libcni and multus. What an edit of a conflist looks like is package
// conflist's. It talks to nothing outside the node and keeps no state of its own there.
//
// The convention it relies on: a runtime loads the first file of its configuration
// directory in libcni's order, and starts to use a changed one when it sees the change.
// The primary owns that file and may rewrite it at any time, so a job is never done: a Loop
// repeats the same pass at the start, on every change and now and then. A pass that finds
// everything in order writes nothing.
package node
