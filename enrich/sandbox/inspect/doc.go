// SPDX-License-Identifier: Apache-2.0

// Package inspect reads more of a sandbox than the rules need: kind and routes of
// a link, the device on the host that it leads to, taps. It is for people and for
// drivers, who ask once; the plugin, which runs at every pod start, does not
// import it.
//
// It touches netlink and namespaces, reads and never writes. The convention it
// relies on is that of the kernel: the index of the device behind a link
// (IFLA_LINK) counts in the namespace that IFLA_LINK_NETNSID names, and is
// nothing in any other. Errors wrap those of package sandbox.
package inspect
