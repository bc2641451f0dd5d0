// SPDX-License-Identifier: Apache-2.0

package attachment

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	types100 "github.com/containernetworking/cni/pkg/types/100"

	"github.com/result-enricher/result-enricher/enrich"
	"github.com/result-enricher/result-enricher/enrich/sandbox"
	"github.com/result-enricher/result-enricher/enrich/sandbox/inspect"
)

// complete makes an attachment of a record: what the Result says, and what the
// kernel says where the Result says nothing.
func (o options) complete(ctx context.Context, r record) (Attachment, error) {
	prev, err := enrich.Parse(r.result, r.cniVersion)
	if err != nil {
		return Attachment{}, err
	}
	call := enrich.Call{
		CNIVersion: types100.ImplementedSpecVersion, ContainerID: r.containerID, IfName: r.ifName,
		Netns: r.netns,
	}
	if call.Netns == "" {
		call.Netns = sandboxOf(prev.Result, call)
	}
	said := call.Netns
	if o.netns != "" {
		call.Netns = o.netns
	}
	a := Attachment{
		ContainerID: r.containerID, Network: r.network, Interface: r.ifName, Netns: call.Netns,
		CNIVersion: r.cniVersion, Result: r.result, Addresses: []Address{}, Routes: []Route{},
	}
	var obs enrich.Observation
	k, err := look(ctx, prev, call, &obs)
	if errors.Is(err, sandbox.ErrNoLink) && sandboxOf(prev.Result, call) != "" {
		err = nil // a device without a netdev, as for DPDK and VFIO
	}
	if err != nil {
		obs.Err = err
		a.Incomplete = fmt.Errorf("%w: container %q, interface %s: %w", ErrIncomplete, r.containerID, r.ifName, err)
	}
	// The path of ADD may lead nowhere from here, and is still that of the sandbox.
	obs.OwnSandboxes = append(obs.OwnSandboxes, said)
	outcome := enrich.Apply(prev, call, obs, enrich.Options{})
	a.fill(view{result: outcome.Result, call: call, own: append(obs.OwnSandboxes, call.Netns)}, k)
	return a, nil
}

// sandboxOf is the namespace that the Result has for the interface, for caches
// that do not say it.
func sandboxOf(result *types100.Result, call enrich.Call) string {
	for _, e := range result.Interfaces {
		if e.Name == call.IfName && e.Sandbox != "" && e.Sandbox != call.ContainerID {
			return e.Sandbox
		}
	}
	return ""
}

// seen is what the kernel says.
type seen struct {
	inspect.Interface
	taps []tap
}

type tap struct {
	name string
	mtu  int
}

// look fills obs, and gives what the rules do not need.
func look(ctx context.Context, prev *enrich.Prev, call enrich.Call, obs *enrich.Observation) (seen, error) {
	if call.Netns == "" {
		return seen{}, errors.New("neither the cache nor the Result says where the namespace is")
	}
	s, err := sandbox.Open(ctx, call.Netns)
	if err != nil {
		return seen{}, err
	}
	defer s.Close()
	*obs = s.Look(prev, call, enrich.Options{})
	if obs.Err != nil {
		return seen{}, obs.Err
	}
	in, err := inspect.Open(ctx, call.Netns)
	if err != nil {
		return seen{}, err
	}
	defer in.Close()
	var k seen
	if k.Interface, err = in.Interface(call.IfName); err != nil && !errors.Is(err, sandbox.ErrNoLink) {
		return seen{}, err
	}
	missing := err
	names, err := in.Taps()
	if err != nil {
		return seen{}, err
	}
	for _, name := range names {
		link, err := in.Interface(name)
		if err != nil {
			return seen{}, err
		}
		k.taps = append(k.taps, tap{name: name, mtu: link.MTU})
	}
	return k, missing
}

// fill takes the Result's values first, and the kernel's for what it lacks.
func (a *Attachment) fill(v view, k seen) {
	a.Kind, a.HostDevice, a.MAC, a.MTU = k.Kind, k.HostDevice, k.MAC, k.MTU
	if entry := v.podEntry(); entry != nil {
		if enrich.IsMAC(entry.Mac) {
			a.MAC = entry.Mac
		}
		if entry.Mtu > 0 {
			a.MTU = entry.Mtu
		}
	}
	for _, ip := range v.addresses() {
		if prefix, ok := prefixOf(ip.Address); ok {
			gateway, _ := netip.AddrFromSlice(ip.Gateway)
			a.Addresses = append(a.Addresses, Address{Prefix: prefix, Gateway: gateway.Unmap()})
		}
	}
	if len(v.result.IPs) == 0 {
		for _, prefix := range k.Addresses {
			a.Addresses = append(a.Addresses, Address{Prefix: prefix})
		}
	}
	for _, route := range v.result.Routes {
		if dst, ok := prefixOf(route.Dst); ok {
			hop, _ := netip.AddrFromSlice(route.GW)
			a.Routes = append(a.Routes, Route{Destination: dst, Gateway: hop.Unmap()})
		}
	}
	if len(v.result.Routes) == 0 {
		for _, route := range k.Routes {
			a.Routes = append(a.Routes, Route{Destination: route.Destination, Gateway: route.Gateway})
		}
	}
	a.fillGateways(k.Routes)
	a.DNS = *v.result.DNS.Copy()
	a.Tap = v.tap(k.taps, a.MAC)
}

// fillGateways asks the kernel first: it has the routes that are in force. Where
// it could not be asked, the Result's routes have to do.
func (a *Attachment) fillGateways(kernel []inspect.Route) {
	for i := range a.Addresses {
		address := &a.Addresses[i]
		if address.Gateway.IsValid() {
			continue
		}
		is4, best := address.Prefix.Addr().Is4(), -1
		for n, route := range kernel {
			if route.Destination.Bits() == 0 && route.Destination.Addr().Is4() == is4 &&
				(best < 0 || route.Metric < kernel[best].Metric) {
				best = n
			}
		}
		if best >= 0 {
			address.Gateway = kernel[best].Gateway
			continue
		}
		if a.Incomplete == nil {
			continue
		}
		for _, route := range a.Routes {
			if route.Destination.Bits() == 0 && route.Destination.Addr().Is4() == is4 {
				address.Gateway = route.Gateway
				break
			}
		}
	}
}

func prefixOf(n net.IPNet) (netip.Prefix, bool) {
	addr, ok := netip.AddrFromSlice(n.IP)
	ones, bits := n.Mask.Size()
	if addr = addr.Unmap(); addr.Is4() && bits == 128 {
		ones -= 96
	}
	prefix := netip.PrefixFrom(addr, ones)
	return prefix, ok && prefix.IsValid()
}
