// SPDX-License-Identifier: Apache-2.0

package attachment

import (
	"slices"

	types100 "github.com/containernetworking/cni/pkg/types/100"

	"github.com/result-enricher/result-enricher/enrich"
)

// view is a Result after the rules, seen from one attachment.
type view struct {
	result *types100.Result
	call   enrich.Call
	// own are the spellings of the sandbox.
	own []string
}

// pod is the position of the entry of the interface, -1 for none. An entry in
// another spelling of the sandbox is better than none (Antrea).
func (v view) pod() int {
	named := func(fits func(sandbox string) bool) int {
		return slices.IndexFunc(v.result.Interfaces, func(e *types100.Interface) bool {
			return e.Name == v.call.IfName && fits(e.Sandbox)
		})
	}
	if i := named(func(s string) bool { return s != "" && slices.Contains(v.own, s) }); i >= 0 {
		return i
	}
	return named(func(s string) bool { return s != "" && s != v.call.ContainerID })
}

func (v view) podEntry() *types100.Interface {
	if i := v.pod(); i >= 0 {
		return v.result.Interfaces[i]
	}
	return nil
}

// addresses are those of the interface's entry. Where it has none, the rules left
// the Result alone, and the addresses that are nobody's in a sandbox are its own;
// failing these, those of the virtual machine behind it.
func (v view) addresses() []*types100.IPConfig {
	pod := v.pod()
	choose := func(fits func(index int) bool) []*types100.IPConfig {
		var chosen []*types100.IPConfig
		for _, ip := range v.result.IPs {
			index := -1
			if ip.Interface != nil {
				index = *ip.Interface
			}
			if fits(index) && !ip.Address.IP.IsUnspecified() {
				chosen = append(chosen, ip)
			}
		}
		return chosen
	}
	if ips := choose(func(i int) bool { return i >= 0 && i == pod }); len(ips) > 0 {
		return ips
	}
	if ips := choose(func(i int) bool { return i < 0 || v.result.Interfaces[i].Sandbox == "" }); len(ips) > 0 {
		return ips
	}
	return choose(func(i int) bool { return i >= 0 && v.result.Interfaces[i].Sandbox == v.call.ContainerID })
}

// tap is the one of the pair that tc-redirect-tap describes: the device, and an
// entry of the same name whose sandbox is the container's ID for the machine
// behind it (package vmconf of firecracker-go-sdk). Otherwise it is the
// sandbox's only one.
func (v view) tap(taps []tap, mac string) *Tap {
	mtu := func(name string) int {
		for _, t := range taps {
			if t.name == name {
				return t.mtu
			}
		}
		return 0
	}
	var machines, devices []*types100.Interface
	for _, e := range v.result.Interfaces {
		if e.Sandbox == v.call.ContainerID {
			machines = append(machines, e)
		}
	}
	if len(machines) == 1 {
		for _, e := range v.result.Interfaces {
			if e.Name == machines[0].Name && e.Sandbox != v.call.ContainerID && e.Sandbox != "" {
				devices = append(devices, e)
			}
		}
	}
	switch {
	case len(devices) == 1:
		guest := machines[0].Mac
		if !enrich.IsMAC(guest) {
			guest = mac
		}
		return &Tap{Name: devices[0].Name, MTU: mtu(devices[0].Name), GuestMAC: guest}
	case len(devices) == 0 && len(taps) == 1:
		return &Tap{Name: taps[0].name, MTU: taps[0].mtu, GuestMAC: mac}
	}
	return nil
}
