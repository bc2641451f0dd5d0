// SPDX-License-Identifier: Apache-2.0

// Command calico-shaped is a CNI interface plugin for tests and for the demo. It does to a pod's namespace what the
// Calico CNI plugin does, and answers ADD as Calico up to v3.30 answers: with the host's veth alone, and with addresses
// that belong to no interface. It is no network for real pods: it takes its addresses from its own configuration, checks
// none of them for being free, and lets nothing through between host and pod but what the kernel does by itself.
//
// It may touch the pod's namespace, and in its own namespace the one veth whose name it derives from the container ID
// and the interface name; DEL finds it by that name and needs neither the pod's namespace nor prevResult.
package main

import (
	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/version"
)

func main() {
	skel.PluginMainFuncs(skel.CNIFuncs{
		Add:    add,
		Del:    del,
		Check:  check,
		GC:     func(*skel.CmdArgs) error { return nil }, // there is nothing that DEL could have missed
		Status: func(*skel.CmdArgs) error { return nil }, // it depends on no daemon, so it is always ready
	}, version.All, "calico-shaped: answers as Calico up to v3.30 does")
}
