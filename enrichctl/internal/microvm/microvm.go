// SPDX-License-Identifier: Apache-2.0

// Package microvm turns an attachment into the static network configuration of a
// Firecracker machine. It is pure.
//
// The convention it relies on: the names are those of StaticNetworkConfiguration
// in firecracker-go-sdk v1.0.0, so that its JSON decodes into that type; further
// keys are for those who start Firecracker without the SDK. Only IPv4 can be
// configured so: the kernel's ip= has no other family.
package microvm

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/result-enricher/result-enricher/enrich/attachment"
)

// ErrNoIPv4 says that the attachment has no IPv4 address.
var ErrNoIPv4 = errors.New("no IPv4 address; Firecracker's static configuration has no other")

// Configuration is a machine's network.
type Configuration struct {
	HostDevName     string
	MacAddress      string
	IPConfiguration IPConfiguration
	// Netns is the path of the namespace that the machine must be started in.
	Netns string
	// MTU in bytes that the guest should use; ip= cannot say it.
	MTU int `json:",omitempty"`
	// KernelArgument is for the guest's command line.
	KernelArgument string
	// Translated is what the attachment has, where that is not what the guest gets.
	Translated *Original `json:",omitempty"`
}

// IPConfiguration is what the guest's interface gets.
type IPConfiguration struct {
	IPAddr net.IPNet
	// Gateway is absent when there is none; the SDK refuses that.
	Gateway     net.IP `json:",omitempty"`
	Nameservers []string
	// IfName is the guest's interface; empty for the only one.
	IfName string
}

// Original is an address that a guest cannot be given as it is.
type Original struct {
	Address netip.Prefix
	Gateway netip.Addr
}

// nameservers is how many ip= takes.
const nameservers = 2

// From gives the configuration, and notes that a person should read: what was
// translated, left out or is missing.
func From(a attachment.Attachment) (Configuration, []string, error) {
	address, ok := a.IPv4()
	if !ok {
		return Configuration{}, nil, fmt.Errorf("interface %s of container %q: %w", a.Interface, a.ContainerID, ErrNoIPv4)
	}
	var notes []string
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }

	c := Configuration{MacAddress: a.MAC, MTU: a.MTU, Netns: a.Netns}
	if a.Tap != nil {
		c.HostDevName, c.MacAddress = a.Tap.Name, a.Tap.GuestMAC
		if a.Tap.MTU > 0 {
			c.MTU = a.Tap.MTU
		}
	} else {
		note("no tap, or several, in %s: HostDevName is empty; make one and redirect %s to it, as tc-redirect-tap does", a.Netns, a.Interface)
	}
	prefix, gateway := address.Prefix, address.Gateway
	switch {
	case !gateway.IsValid():
		note("no gateway: the guest reaches only %s", prefix.Masked())
	case !prefix.Contains(gateway) && gateway.IsLinkLocalUnicast():
		c.Translated = &Original{Address: prefix, Gateway: gateway}
		prefix, gateway = onLink(prefix.Addr())
		note("translated %s with the gateway %s, which is on no subnet of it and which a guest's kernel refuses, to %s with %s; "+
			"the host's end must answer ARP for that, as Calico's does (proxy_arp)",
			c.Translated.Address, c.Translated.Gateway, prefix, gateway)
	case !prefix.Contains(gateway):
		note("the gateway %s is on no subnet of %s: a guest's kernel refuses it", gateway, prefix)
	}
	servers := a.DNS.Nameservers
	if len(servers) > nameservers {
		note("left out the nameservers after the second: %s", strings.Join(servers[nameservers:], ", "))
		servers = servers[:nameservers]
	}
	if _, ok := a.IPv6(); ok || len(a.Addresses) > 1 {
		note("left out the addresses beside %s", prefix.Addr())
	}
	c.IPConfiguration = IPConfiguration{
		IPAddr:      net.IPNet{IP: prefix.Addr().AsSlice(), Mask: net.CIDRMask(prefix.Bits(), 32)},
		Gateway:     gateway.AsSlice(),
		Nameservers: append([]string{}, servers...),
	}
	c.KernelArgument = c.IPConfiguration.kernelArgument()
	return c, notes, nil
}

// kernelArgument is client, server, gateway, mask, host name, device,
// autoconfiguration, two nameservers and a time server (Documentation/admin-guide/nfs/nfsroot.rst
// of the kernel).
func (c IPConfiguration) kernelArgument() string {
	gateway := ""
	if c.Gateway != nil {
		gateway = c.Gateway.String()
	}
	servers := make([]string, nameservers)
	copy(servers, c.Nameservers)
	return "ip=" + strings.Join([]string{
		c.IPAddr.IP.String(), "", gateway, net.IP(c.IPAddr.Mask).String(), "", c.IfName, "off", servers[0], servers[1], "",
	}, ":")
}

// onLink gives an address the longest prefix in which it is neither the first
// nor the last, and another address of it for the gateway. /31 will not do: the
// kernel takes the last address for the broadcast address when ip= sets it up.
//
// The addresses of that prefix are then neighbours for the guest. A host that
// answers ARP for every address forwards what is sent to them all the same.
func onLink(addr netip.Addr) (netip.Prefix, netip.Addr) {
	for bits := 30; bits >= 0; bits-- {
		prefix := netip.PrefixFrom(addr, bits)
		first := prefix.Masked().Addr()
		if addr == first || addr == last(prefix) {
			continue
		}
		gateway := first.Next()
		if gateway == addr {
			gateway = gateway.Next()
		}
		return prefix, gateway
	}
	return netip.PrefixFrom(addr, addr.BitLen()), netip.Addr{} // 0.0.0.0 and 255.255.255.255 are nobody's
}

func last(prefix netip.Prefix) netip.Addr {
	bytes := prefix.Masked().Addr().As4()
	for bit := prefix.Bits(); bit < 32; bit++ {
		bytes[bit/8] |= 0x80 >> (bit % 8)
	}
	return netip.AddrFrom4(bytes)
}
