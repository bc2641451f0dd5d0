// SPDX-License-Identifier: Apache-2.0

package consumer

import (
	"net"
	"slices"

	"github.com/containernetworking/cni/pkg/types"
	types100 "github.com/containernetworking/cni/pkg/types/100"
)

// NetworkStatus is an entry of the annotation k8s.v1.cni.cncf.io/network-status,
// in its JSON.
type NetworkStatus struct {
	Name      string    `json:"name"`
	Interface string    `json:"interface,omitempty"`
	IPs       []string  `json:"ips,omitempty"`
	MAC       string    `json:"mac,omitempty"`
	MTU       int       `json:"mtu,omitempty"`
	Default   bool      `json:"default,omitempty"`
	DNS       types.DNS `json:"dns"`
	Gateway   []string  `json:"gateway,omitempty"`
}

// PredictMultus is what multus 4.1.2 and later write for one network. isDefault
// says that it is the cluster's default network.
//
// A single interface is a regime of its own, which attributes every address to
// it. Otherwise there is an entry for each interface with a sandbox.
func PredictMultus(result *types100.Result, network string, isDefault bool) ([]NetworkStatus, error) {
	// The three lists are walked whatever they hold, and no entry is checked.
	if slices.Contains(result.Interfaces, nil) || slices.Contains(result.IPs, nil) || slices.Contains(result.Routes, nil) {
		return nil, panics("the network-status code reads a null entry")
	}
	common := NetworkStatus{Name: network, DNS: result.DNS}
	for _, route := range result.Routes {
		if multusDefault(route) {
			common.Gateway = append(common.Gateway, route.GW.String()) // <nil> without one
		}
	}
	if len(result.Interfaces) == 1 {
		status := common
		status.Default = isDefault
		if e := result.Interfaces[0]; e.Sandbox != "" {
			status.Interface, status.MAC, status.MTU = e.Name, e.Mac, e.Mtu
		}
		for _, ip := range result.IPs {
			status.IPs = append(status.IPs, ip.Address.IP.String())
		}
		return []NetworkStatus{status}, nil
	}

	var statuses []NetworkStatus
	entries := map[int]int{} // positions in statuses by index of the Result
	theDefault := multusDefaultIndex(result.IPs)
	for i, e := range result.Interfaces {
		if e.Sandbox == "" {
			continue
		}
		status := common
		status.Interface, status.MAC, status.MTU = e.Name, e.Mac, e.Mtu
		status.Default = isDefault && (i == theDefault || theDefault == -1 && len(statuses) == 0)
		entries[i] = len(statuses)
		statuses = append(statuses, status)
	}
	for _, ip := range result.IPs {
		at, found := len(statuses)-1, len(statuses) > 0 // without an index: the last one's
		if ip.Interface != nil {
			at, found = entries[*ip.Interface]
		}
		if found {
			statuses[at].IPs = append(statuses[at].IPs, ip.Address.IP.String())
		}
	}
	return statuses, nil
}

// multusDefaultIndex is the index of the first address that has a gateway and an
// index, -1 for none. Whether there is such an interface is not asked.
func multusDefaultIndex(ips []*types100.IPConfig) int {
	for _, ip := range ips {
		if ip.Gateway != nil && ip.Interface != nil {
			return *ip.Interface
		}
	}
	return -1
}

// multusDefault does not look at the prefix length: 0.0.0.0/1 counts too.
func multusDefault(route *types.Route) bool {
	ip := route.Dst.IP
	return ip == nil && route.Dst.Mask == nil || ip.Equal(net.IPv4zero) || ip.Equal(net.IPv6zero)
}
