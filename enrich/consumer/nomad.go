// SPDX-License-Identifier: Apache-2.0

package consumer

import "github.com/containernetworking/cni/pkg/types"

// Nomad is the network status of an allocation.
type Nomad struct {
	Interface string `json:"interface"`
	// Address is IPv4, or the IPv6 address when there is no other.
	Address     string     `json:"address"`
	AddressIPv6 string     `json:"addressIPv6,omitempty"`
	DNS         *types.DNS `json:"dns,omitempty"`
	// Fallback says that no interface in a sandbox had an address, so that any
	// interface was taken.
	Fallback bool `json:"fallback,omitempty"`
}

// PredictNomad is what Nomad, from 1.11.0 and 1.10.6 on, keeps of go-cni's answer:
// the first interface in a sandbox that has an address, by name, or else the
// first one that has any. By reading (client/allocrunner/networking_cni.go), for
// that code cannot be imported.
//
// A task driver gets none of it but the DNS
// (https://github.com/hashicorp/nomad/issues/16624).
func PredictNomad(c Containerd) (Nomad, error) {
	status, found := c.nomad(true)
	if !found {
		status, found = c.nomad(false)
		status.Fallback = true
	}
	if !found {
		return Nomad{}, refuses("nomad finds no interface with an address")
	}
	if status.Address == "" {
		status.Address = status.AddressIPv6
	}
	if len(c.DNS.Nameservers) > 0 {
		status.DNS = &types.DNS{Nameservers: c.DNS.Nameservers, Search: c.DNS.Search, Options: c.DNS.Options}
	}
	return status, nil
}

func (c Containerd) nomad(inSandbox bool) (Nomad, bool) {
	for _, name := range c.names() {
		e := c.Interfaces[name]
		if inSandbox && e.Sandbox == "" || len(e.IPs) == 0 {
			continue
		}
		status := Nomad{Interface: name}
		for _, ip := range e.IPs {
			switch text := ip.IP.String(); {
			case ip.IP.To4() != nil && status.Address == "":
				status.Address = text
			case ip.IP.To4() == nil && status.AddressIPv6 == "":
				status.AddressIPv6 = text
			}
		}
		return status, true
	}
	return Nomad{}, false
}
