// SPDX-License-Identifier: Apache-2.0

// Package attachment tells what CNI attached to a container of this node, from
// the container's ID alone. It is for those who get the path of a network
// namespace and nothing else: task drivers of Nomad, starters of microVMs,
// people at a node.
//
//	attachments, err := attachment.Find(ctx, allocationID)
//
// # Sources
//
// What the chain of plugins said is in libcni's result cache, which every
// runtime built on libcni keeps: containerd, CRI-O, Nomad, Podman, cnitool,
// multus, the Firecracker SDK. What the Result does not say follows the kernel:
// MAC, MTU, gateways, routes, addresses, and the device on the host. The rules of
// package enrich decide which entry and which addresses are the interface's,
// whether or not the plugin result-enricher was in the chain.
//
// Nothing is written, and nothing is kept: every call looks again.
//
// # What it may touch
//
// It reads the cache directories, the namespace, and single links of the
// caller's own network namespace, which is taken for the host's. That needs what
// a runtime has: the files are readable for root only, and a namespace opens with
// CAP_SYS_ADMIN in the user namespace that owns it.
//
// # Stability
//
// This package follows semantic versioning: within a major version nothing
// exported is removed or changes its meaning, and the JSON names of fields stay.
// Fields and options may be added; use field names in composite literals.
package attachment
