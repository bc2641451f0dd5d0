// SPDX-License-Identifier: Apache-2.0

package consumer

import (
	"slices"

	types100 "github.com/containernetworking/cni/pkg/types/100"
)

func (c Containerd) faults(ctx Context) []Fault {
	var faults []Fault
	own := c.Interfaces[ctx.IfName]
	switch {
	case own.MAC == "" && own.Sandbox == "":
		faults = append(faults, fault(FaultNoInterface, "%s: no mac, no sandbox", ctx.IfName))
	case own.MAC == "":
		faults = append(faults, fault(FaultNoMAC, "%s has no mac", ctx.IfName))
	}
	if len(own.IPs) == 0 {
		faults = append(faults, fault(FaultNoAddress, "%s has no address: the pod does not start", ctx.IfName))
	}
	for _, name := range c.names() {
		// A machine's copy of the addresses is not the pod's.
		if sandbox := c.Interfaces[name].Sandbox; name == ctx.IfName || sandbox != "" && sandbox == ctx.ContainerID {
			continue
		}
		for _, ip := range c.Interfaces[name].IPs {
			faults = append(faults, fault(FaultLostAddress, "%s belongs to %s", ip.IP, name))
		}
	}
	return faults
}

func multusFaults(statuses []NetworkStatus, result *types100.Result, ctx Context) []Fault {
	if len(statuses) == 0 {
		return []Fault{fault(FaultNoInterface, "no entry: the network is missing from the annotation")}
	}
	var faults []Fault
	var shown []string
	isDefault := false
	for _, s := range statuses {
		shown = append(shown, s.IPs...)
		isDefault = isDefault || s.Default
		switch {
		case s.Interface == "":
			faults = append(faults, fault(FaultNoInterface, "no interface and no mac"))
		case s.Interface != ctx.IfName:
			faults = append(faults, fault(FaultExtraEntry, "%s is an entry of its own", s.Interface))
		case s.MAC == "":
			faults = append(faults, fault(FaultNoMAC, "%s has no mac", s.Interface))
		}
	}
	if !isDefault && !ctx.Secondary {
		faults = append(faults, fault(FaultNoDefault, "no entry is the default"))
	}
	for _, ip := range result.IPs {
		text := ip.Address.IP.String()
		at := slices.Index(shown, text)
		if at < 0 {
			faults = append(faults, fault(FaultLostAddress, "%s is in no entry", text))
			continue
		}
		shown = slices.Delete(shown, at, at+1)
	}
	if slices.Contains(statuses[0].Gateway, nobody) {
		faults = append(faults, fault(FaultNoGateway, "the gateway is the text %s", nobody))
	}
	return faults
}

// nobody is how the net package writes an address that is not there.
const nobody = "<nil>"

func (f Firecracker) faults() []Fault {
	var faults []Fault
	if f.Gateway == nil {
		faults = append(faults, fault(FaultNoGateway, "the guest's gateway is the text %s", nobody))
	}
	if f.MAC == "" {
		faults = append(faults, fault(FaultNoMAC, "the guest has no mac"))
	}
	if f.Address.IP.To4() == nil {
		faults = append(faults, fault(FaultNoAddress, "ip= takes IPv4 only"))
	}
	return faults
}

func redirectFaults(copied []string) []Fault {
	switch len(copied) {
	case 0:
		return []Fault{fault(FaultNoAddress, "tc-redirect-tap copies no address, vmconf wants 1")}
	case 1:
		return nil
	default:
		return []Fault{fault(FaultExtraEntry, "tc-redirect-tap copies %d addresses, vmconf wants 1", len(copied))}
	}
}

func (n Nomad) faults(ctx Context) []Fault {
	switch {
	case n.Interface != ctx.IfName:
		return []Fault{fault(FaultWrongInterface, "the allocation's interface is %s", n.Interface)}
	case n.Fallback:
		return []Fault{fault(FaultNoInterface, "%s by chance: no sandbox is named", n.Interface)}
	}
	return nil
}
