// SPDX-License-Identifier: Apache-2.0

package consumer

import (
	"maps"
	"net"
	"slices"

	"github.com/containernetworking/cni/pkg/types"
	types100 "github.com/containernetworking/cni/pkg/types/100"
)

// Containerd is what go-cni makes of a Result for containerd, nerdctl, buildkit
// and Nomad: interfaces by name, whatever namespace they are in.
type Containerd struct {
	Interfaces map[string]ContainerdInterface `json:"interfaces"`
	DNS        types.DNS                      `json:"dns"`
	Routes     []*types.Route                 `json:"routes"`
}

// ContainerdInterface is one interface with the addresses whose index leads to
// its name.
type ContainerdInterface struct {
	MAC        string         `json:"mac"`
	Sandbox    string         `json:"sandbox"`
	PciID      string         `json:"pciID,omitempty"`
	SocketPath string         `json:"socketPath,omitempty"`
	IPs        []ContainerdIP `json:"ips"`
}

// ContainerdIP is one address, without its prefix length.
type ContainerdIP struct {
	IP      net.IP `json:"ip"`
	Gateway net.IP `json:"gateway,omitempty"`
}

// PredictContainerd is go-cni's answer. ifName is the runtime's default interface,
// eth0 everywhere: it is listed whether the Result has it or not, and has every
// address without an index.
//
// An index is compared with the number of interfaces by > only, and never with
// zero.
func PredictContainerd(result *types100.Result, ifName string) (Containerd, error) {
	view := Containerd{
		Interfaces: map[string]ContainerdInterface{ifName: {IPs: []ContainerdIP{}}}, DNS: result.DNS,
		Routes: append([]*types.Route(nil), result.Routes...),
	}
	for i, e := range result.Interfaces {
		if e == nil {
			return Containerd{}, panics("go-cni reads interfaces[%d], which is null", i)
		}
		view.Interfaces[e.Name] = ContainerdInterface{
			MAC: e.Mac, Sandbox: e.Sandbox, PciID: e.PciID, SocketPath: e.SocketPath, IPs: []ContainerdIP{},
		}
	}
	for i, ip := range result.IPs {
		name := ifName
		switch n := len(result.Interfaces); {
		case ip == nil:
			return Containerd{}, refuses("go-cni: ips[%d] is null", i)
		case ip.Interface == nil:
		case *ip.Interface > n:
			return Containerd{}, refuses("go-cni: ips[%d] has the interface %d of %d", i, *ip.Interface, n)
		case *ip.Interface == n || *ip.Interface < 0:
			return Containerd{}, panics("go-cni takes interface %d of %d for ips[%d]", *ip.Interface, n, i)
		default:
			name = result.Interfaces[*ip.Interface].Name
		}
		owner := view.Interfaces[name]
		owner.IPs = append(owner.IPs, ContainerdIP{IP: ip.Address.IP, Gateway: ip.Gateway})
		view.Interfaces[name] = owner
	}
	return view, nil
}

// names are the interfaces in alphabetical order.
func (c Containerd) names() []string { return slices.Sorted(maps.Keys(c.Interfaces)) }

// PodIPs are what containerd's CRI plugin takes for the pod's addresses: those of
// the default interface, and no other's. Without any the pod does not start. By
// reading (internal/cri/server/sandbox_run.go).
func (c Containerd) PodIPs(ifName string) []string {
	var ips []string
	for _, ip := range c.Interfaces[ifName].IPs {
		ips = append(ips, ip.IP.String())
	}
	return ips
}
