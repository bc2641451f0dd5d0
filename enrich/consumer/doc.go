// SPDX-License-Identifier: Apache-2.0

// Package consumer predicts what the consumers of a CNI Result make of it:
// containerd, multus, Firecracker and Nomad, with their faults.
//
// It is pure, and every prediction is a few lines written after reading the
// consumer's code. Tests of the module e2e hold them against that code, over all
// recorded Results and by fuzzing both with the same input: go-cni v1.1.15
// (containerd, Nomad), network-attachment-definition-client v1.7.7 (multus) and
// the package vmconf of firecracker-go-sdk v1.0.0. What cannot be imported is by
// reading only, and says so: the choice that containerd's CRI plugin and Nomad
// make of go-cni's answer, and what tc-redirect-tap copies.
//
// The convention it relies on: a consumer gets the Result that libcni decoded
// ([Decode]). A prediction is a value, or an error that wraps [ErrPanic] or
// [ErrRefused]; what a value lacks is among the [Fault]s.
package consumer
