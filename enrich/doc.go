// SPDX-License-Identifier: Apache-2.0

// Package enrich repairs a CNI Result so that it describes the interface inside
// the pod, as the CNI specification asks of ADD ("interfaces: an array of all
// interfaces created by the attachment").
//
// It is pure: what goes in is the JSON of prevResult, what the runtime said
// ([Call]) and what was seen in the sandbox ([Observation]); what comes out is a
// new Result and the list of repairs, each with its rule and its reason. It
// imports no netlink, no os and no clock, so every rule has a test that needs
// no root, and the same code that runs in the plugin can explain a Result later.
//
// The convention it relies on: an entry of interfaces with an empty sandbox
// lives on the host, one whose sandbox is CNI_NETNS lives in the pod, and any
// other sandbox (a container ID, a VM, another mount namespace's spelling)
// belongs to somebody else and is kept value for value.
//
// # Rules
//
// The rules run in this order. "Left alone" means that R1 and the dropping of
// impossible indices apply and nothing else.
//
//   - R0: nothing is reordered or deleted, additions are appended, every index
//     of the output is in range, and a second run changes nothing.
//   - R1: null entries of interfaces, ips and routes are removed ([Parse]).
//   - R2: what cannot be judged is left alone.
//   - R3: which entry is the pod's.
//   - R4: the pod's entry gets sandbox, mac and mtu.
//   - R5: other entries of the same sandbox get a missing mac.
//   - R6: a missing pod entry is appended, together with the indices or not at all.
//   - R7: the index of every address.
//   - R8: gateways, on request.
//   - R9: mtu exists from CNI version 1.0.0 on.
//   - R10: which of R2's cases are errors for who wants errors ([Outcome.Failure]).
package enrich
