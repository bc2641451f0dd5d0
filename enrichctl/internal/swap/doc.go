// SPDX-License-Identifier: Apache-2.0

// Package swap replaces one file in a directory that other programs read and
// write at the same time, so that nobody ever sees half of it.
//
// It touches the file it is given, temporaries beside it and, for a symbolic
// link, the link. It creates nothing else, and what the file says is for the
// caller's Edit to know.
//
// The convention it relies on: whoever of us changes a directory holds flock on
// the directory, and every temporary is called <name>.result-enricher-tmp-<random>
// and lies in the same directory. No container runtime loads such a name (libcni
// reads .conf, .conflist and .json), and containerd notices the rename, which it
// would not if the file came from elsewhere: it reloads on Write, Rename and
// Remove but not on Create. The target's own name never disappears or moves.
//
// The file's other owners know nothing of the lock. They are met by comparing
// again right before the rename, and by keeping the replaced file open
// afterwards (Replaced): an owner that had it open goes on writing there. What
// stays is the time that rename(2) itself takes; an owner that renames a file of
// its own onto the target within these microseconds loses it. Exchanging the two
// names would find that out, but moves the target's name, and a watcher that
// follows events would take the file for gone.
package swap
