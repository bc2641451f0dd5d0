// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/result-enricher/result-enricher/enrich"
	"github.com/result-enricher/result-enricher/enrich/sandbox"
)

// Interface is what the kernel says of one link of the sandbox, for people and
// for drivers.
type Interface struct {
	// Kind is the kernel's word for it: veth, netkit, macvlan, tun, device.
	Kind string
	// MAC is in net.HardwareAddr's spelling, empty when the link has none.
	MAC string
	// MTU in bytes.
	MTU int
	// Addresses are those of global scope.
	Addresses []netip.Prefix
	// Routes are the unicast routes of the main table through the link, without
	// those that the kernel adds for every address by itself.
	Routes []Route
	// HostDevice is the name of the device that the link leads to, when that is in
	// the network namespace of the caller: the other end of a veth or netkit
	// pair, the lower device of a macvlan, ipvlan or VLAN. Empty otherwise.
	HostDevice string
}

// Route is a route through a link of the sandbox.
type Route struct {
	Destination netip.Prefix
	// Gateway is invalid for a route without one.
	Gateway netip.Addr
	// Metric is the kernel's priority; the lowest counts.
	Metric int
}

func (i *Inspector) describe(name string) (Interface, error) {
	link, err := i.pod.link(name)
	if err != nil {
		return Interface{}, err
	}
	attrs := link.Attrs()
	found := Interface{Kind: link.Type(), MTU: attrs.MTU}
	if mac := attrs.HardwareAddr.String(); enrich.IsMAC(mac) {
		found.MAC = mac
	}
	if found.Addresses, err = i.addresses(attrs); err != nil {
		return Interface{}, err
	}
	if found.Routes, err = i.routes(attrs); err != nil {
		return Interface{}, err
	}
	found.HostDevice, err = i.hostDevice(attrs)
	return found, err
}

func (i *Inspector) addresses(attrs *netlink.LinkAttrs) ([]netip.Prefix, error) {
	var addrs []netlink.Addr
	if err := i.pod.dump(func() (err error) {
		addrs, err = i.pod.kernel.AddrList(&netlink.Device{LinkAttrs: *attrs}, netlink.FAMILY_ALL)
		return err
	}); err != nil {
		return nil, err
	}
	var prefixes []netip.Prefix
	for _, addr := range addrs {
		if addr.IPNet == nil || addr.Scope != unix.RT_SCOPE_UNIVERSE {
			continue
		}
		if ip, ok := netip.AddrFromSlice(addr.IP); ok {
			ones, _ := addr.Mask.Size()
			prefixes = append(prefixes, netip.PrefixFrom(ip.Unmap(), ones))
		}
	}
	return prefixes, nil
}

func (i *Inspector) routes(attrs *netlink.LinkAttrs) ([]Route, error) {
	var listed []netlink.Route
	if err := i.pod.dump(func() (err error) {
		listed, err = i.pod.kernel.RouteListFiltered(netlink.FAMILY_ALL,
			&netlink.Route{Table: unix.RT_TABLE_MAIN}, netlink.RT_FILTER_TABLE)
		return err
	}); err != nil {
		return nil, err
	}
	var routes []Route
	for _, route := range listed {
		hop, through := gatewayThrough(route, attrs.Index)
		if !through || route.Type != unix.RTN_UNICAST || route.MPLSDst != nil || route.Protocol == unix.RTPROT_KERNEL {
			continue
		}
		destination := netip.PrefixFrom(netip.IPv4Unspecified(), 0)
		if route.Family == netlink.FAMILY_V6 {
			destination = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
		}
		if route.Dst != nil {
			ip, ok := netip.AddrFromSlice(route.Dst.IP)
			if !ok {
				continue
			}
			ones, _ := route.Dst.Mask.Size()
			destination = netip.PrefixFrom(ip.Unmap(), ones)
		}
		routes = append(routes, Route{Destination: destination, Gateway: hop, Metric: route.Priority})
	}
	return routes, nil
}

// hostDevice follows IFLA_LINK. An index is unique in one namespace only, so it
// counts when the namespace it is of, IFLA_LINK_NETNSID, is the caller's.
func (i *Inspector) hostDevice(attrs *netlink.LinkAttrs) (string, error) {
	if attrs.ParentIndex == 0 || attrs.NetNsID < 0 {
		return "", nil // nothing behind the link, or in the sandbox itself
	}
	if err := i.pod.arm(); err != nil {
		return "", err
	}
	// The number that the sandbox has for the caller's namespace, -1 for none.
	id, err := i.pod.kernel.GetNetNsIdByFd(i.callerNS)
	if err != nil {
		return "", fmt.Errorf("identify the own namespace: %w", classify(err))
	}
	if id != attrs.NetNsID {
		return "", nil
	}
	if err := i.host.arm(); err != nil {
		return "", err
	}
	device, err := i.host.kernel.LinkByIndex(attrs.ParentIndex)
	if err != nil {
		if err = classify(err); errors.Is(err, sandbox.ErrNoLink) {
			return "", nil // it went meanwhile, and a pair goes together
		}
		return "", fmt.Errorf("read the host's link %d: %w", attrs.ParentIndex, err)
	}
	return device.Attrs().Name, nil
}

func (i *Inspector) taps() ([]string, error) {
	var links []netlink.Link
	if err := i.pod.dump(func() (err error) {
		links, err = i.pod.kernel.LinkList()
		return err
	}); err != nil {
		return nil, err
	}
	var names []string
	for _, link := range links {
		if tap, ok := link.(*netlink.Tuntap); ok && tap.Mode == netlink.TUNTAP_MODE_TAP {
			names = append(names, tap.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}
