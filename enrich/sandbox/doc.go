// SPDX-License-Identifier: Apache-2.0

// Package sandbox looks into a pod's network namespace: it is the only place
// that touches netlink and network namespaces, and it fills the
// [enrich.Observation] that the rules work on.
//
// It reads and never writes. It reads the pod link by name, the addresses of
// that link, the default routes when they are wanted, and further links by name
// one by one; it never dumps links, neither the host's nor the sandbox's, so that
// its cost does not grow with the node.
//
// The convention it relies on: one netlink socket is opened inside the
// namespace and used from outside; no code runs in there, and the calling
// thread is back in its own namespace when [Open] returns.
package sandbox
