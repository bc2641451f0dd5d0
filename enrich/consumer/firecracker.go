// SPDX-License-Identifier: Apache-2.0

package consumer

import (
	"fmt"
	"net"
	"strings"

	"github.com/containernetworking/cni/pkg/types"
	types100 "github.com/containernetworking/cni/pkg/types/100"
)

// Firecracker is the static configuration of a machine's network that the
// package vmconf of firecracker-go-sdk finds in a Result. The MTU, which it reads
// from the tap, is not among it.
type Firecracker struct {
	Tap     string         `json:"tap"`
	Netns   string         `json:"netns"`
	MAC     string         `json:"mac"`
	Address net.IPNet      `json:"-"`
	Gateway net.IP         `json:"gateway,omitempty"`
	Routes  []*types.Route `json:"routes"`
	DNS     types.DNS      `json:"dns"`
}

// PredictFirecracker follows the convention of package vmconf: two entries of one
// name, of which one has the container's ID as sandbox and stands for the
// machine, and exactly one address that is indexed to that one.
func PredictFirecracker(result *types100.Result, containerID string) (Firecracker, error) {
	machine, tap, err := machinePair(result.Interfaces, containerID)
	if err != nil {
		return Firecracker{}, err
	}
	ips, err := ipsOf(result, machine.Name, machine.Sandbox)
	if err != nil {
		return Firecracker{}, err
	}
	if len(ips) != 1 {
		return Firecracker{}, refuses("vmconf wants 1 address for the machine, and finds %d", len(ips))
	}
	return Firecracker{
		Tap: tap.Name, Netns: tap.Sandbox, MAC: machine.Mac, Address: ips[0].Address, Gateway: ips[0].Gateway,
		Routes: result.Routes, DNS: result.DNS,
	}, nil
}

func machinePair(entries []*types100.Interface, containerID string) (machine, tap *types100.Interface, err error) {
	var machines, others []*types100.Interface
	for i, e := range entries {
		switch {
		case e == nil:
			return nil, nil, panics("vmconf reads interfaces[%d], which is null", i)
		case e.Sandbox == containerID:
			machines = append(machines, e)
		default:
			others = append(others, e)
		}
	}
	if len(machines) == 0 {
		return nil, nil, ErrNoMachine
	}
	if len(machines) > 1 {
		return nil, nil, refuses("vmconf finds %d entries with the container's ID as sandbox", len(machines))
	}
	found := 0
	for _, e := range others {
		if e.Name == machines[0].Name {
			tap = e
			found++
		}
	}
	if found != 1 {
		return nil, nil, refuses("vmconf wants 1 tap named %q, and finds %d", machines[0].Name, found)
	}
	return machines[0], tap, nil
}

// ipsOf are the addresses whose index leads to an entry of that name and
// sandbox. The index is used without a check.
func ipsOf(result *types100.Result, name, sandbox string) ([]*types100.IPConfig, error) {
	var ips []*types100.IPConfig
	for i, ip := range result.IPs {
		if ip == nil {
			return nil, panics("vmconf reads ips[%d], which is null", i)
		}
		if ip.Interface == nil {
			continue
		}
		if *ip.Interface < 0 || *ip.Interface >= len(result.Interfaces) {
			return nil, panics("vmconf takes interface %d of %d for ips[%d]", *ip.Interface, len(result.Interfaces), i)
		}
		e := result.Interfaces[*ip.Interface]
		if e == nil {
			return nil, panics("vmconf reads interfaces[%d], which is null", *ip.Interface)
		}
		if e.Name == name && e.Sandbox == sandbox {
			ips = append(ips, ip)
		}
	}
	return ips, nil
}

// BootParameter is the guest kernel's ip= argument as the SDK writes it: <nil>
// for a gateway that is missing, and four bytes of the mask whatever the family.
// The error is ErrPanic for a mask that is shorter.
func (f Firecracker) BootParameter() (string, error) {
	mask := f.Address.Mask
	if len(mask) < 4 {
		return "", panics("the SDK reads 4 bytes of a mask of %d", len(mask))
	}
	servers := make([]string, 2)
	copy(servers, f.DNS.Nameservers)
	return strings.Join([]string{
		f.Address.IP.String(), "", f.Gateway.String(), fmt.Sprintf("%d.%d.%d.%d", mask[0], mask[1], mask[2], mask[3]),
		"", "", "off", servers[0], servers[1], "",
	}, ":"), nil
}

// PredictRedirect is what tc-redirect-tap, called next in the chain, copies for a
// machine: the addresses that are indexed to the pod's entry by name and
// CNI_NETNS. vmconf then wants exactly one. By reading (tc-redirect-tap, main.go).
func PredictRedirect(result *types100.Result, ifName, netns string) ([]string, error) {
	ips, err := ipsOf(result, ifName, netns)
	var copied []string
	for _, ip := range ips {
		copied = append(copied, ip.Address.String())
	}
	return copied, err
}
