// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"net"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// The addresses through which every Calico pod leaves: 169.254.1.1 answered by proxy ARP, and the link-local address
// that follows from the MAC which Calico gives every host end.
var (
	hostMAC   = net.HardwareAddr{0xee, 0xee, 0xee, 0xee, 0xee, 0xee}
	gatewayV4 = net.IPv4(169, 254, 1, 1)
	gatewayV6 = net.ParseIP("fe80::ecee:eeff:feee:eeee")
)

// pod opens a netlink handle at the pod's namespace; the caller calls the returned function when done.
func pod(path string) (*netlink.Handle, netns.NsHandle, func(), error) {
	ns, err := netns.GetFromPath(path)
	if err != nil {
		return nil, ns, nil, fmt.Errorf("open the pod's namespace %s: %w", path, err)
	}
	handle, err := netlink.NewHandleAt(ns, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, ns, nil, errors.Join(fmt.Errorf("open netlink at %s: %w", path, err), ns.Close())
	}
	return handle, ns, func() {
		handle.Close()
		ns.Close() // the process ends next and closes it anyway
	}, nil
}

// connect makes the veth pair, with both ends up and the pod's end configured. A pair of the same name, left by an
// earlier attempt of the runtime, is replaced.
func connect(path, podName, hostName string, mtu int, addresses []address) error {
	if err := disconnect(hostName); err != nil {
		return err
	}
	handle, ns, done, err := pod(path)
	if err != nil {
		return err
	}
	defer done()

	pair := netlink.NewVeth(netlink.LinkAttrs{Name: hostName, MTU: mtu, HardwareAddr: hostMAC})
	pair.PeerName = podName
	pair.PeerMTU = uint32(mtu)
	pair.PeerNamespace = netlink.NsFd(ns)
	if err := netlink.LinkAdd(pair); err != nil {
		return fmt.Errorf("make the veth pair %s, %s: %w", hostName, podName, err)
	}
	host, err := netlink.LinkByName(hostName)
	if err != nil {
		return fmt.Errorf("find the new link %s: %w", hostName, err)
	}
	if err := netlink.LinkSetUp(host); err != nil {
		return fmt.Errorf("set %s up: %w", hostName, err)
	}
	if err := configurePod(handle, podName, addresses); err != nil {
		return err
	}
	for _, a := range addresses {
		route := &netlink.Route{LinkIndex: host.Attrs().Index, Dst: a.IPNet, Scope: netlink.SCOPE_LINK}
		if err := netlink.RouteReplace(route); err != nil {
			return fmt.Errorf("add the host's route to %s: %w", a, err)
		}
	}
	return nil
}

// configurePod sets the pod's end up and gives it its addresses and, per family, Calico's two routes.
func configurePod(handle *netlink.Handle, name string, addresses []address) error {
	link, err := handle.LinkByName(name)
	if err != nil {
		return fmt.Errorf("find %s in the pod: %w", name, err)
	}
	if err := handle.LinkSetUp(link); err != nil {
		return fmt.Errorf("set %s up: %w", name, err)
	}
	families := map[bool]bool{}
	for _, a := range addresses {
		if err := handle.AddrAdd(link, &netlink.Addr{IPNet: a.IPNet}); err != nil {
			return fmt.Errorf("add %s to %s: %w", a, name, err)
		}
		if families[a.isIPv4()] {
			continue
		}
		families[a.isIPv4()] = true
		if err := addRoutes(handle, link, a.isIPv4()); err != nil {
			return err
		}
	}
	return nil
}

func addRoutes(handle *netlink.Handle, link netlink.Link, v4 bool) error {
	gateway, bits, everything := gatewayV6, 128, &net.IPNet{IP: net.IPv6zero, Mask: net.CIDRMask(0, 128)}
	if v4 {
		gateway, bits, everything = gatewayV4, 32, &net.IPNet{IP: net.IPv4zero, Mask: net.CIDRMask(0, 32)}
	}
	index := link.Attrs().Index
	toGateway := &netlink.Route{
		LinkIndex: index,
		Dst:       &net.IPNet{IP: gateway, Mask: net.CIDRMask(bits, bits)},
		Scope:     netlink.SCOPE_LINK,
	}
	if err := handle.RouteAdd(toGateway); err != nil {
		return fmt.Errorf("add the pod's route to %s: %w", gateway, err)
	}
	if err := handle.RouteAdd(&netlink.Route{LinkIndex: index, Dst: everything, Gw: gateway}); err != nil {
		return fmt.Errorf("add the pod's default route via %s: %w", gateway, err)
	}
	return nil
}

// disconnect removes the host's end, and the pod's with it. That there is none is what DEL wants.
func disconnect(hostName string) error {
	link, err := netlink.LinkByName(hostName)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for %s: %w", hostName, err)
	}
	if err := netlink.LinkDel(link); err != nil && !errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("delete %s: %w", hostName, err)
	}
	return nil
}

// checkPod tells whether the pod's link still has every address.
func checkPod(path, name string, addresses []address) error {
	handle, _, done, err := pod(path)
	if err != nil {
		return err
	}
	defer done()
	link, err := handle.LinkByName(name)
	if err != nil {
		return fmt.Errorf("find %s in the pod: %w", name, err)
	}
	found, err := handle.AddrList(link, netlink.FAMILY_ALL)
	if err != nil {
		return fmt.Errorf("list the addresses of %s: %w", name, err)
	}
	for _, want := range addresses {
		held := false
		for _, a := range found {
			held = held || a.IP.Equal(want.IP)
		}
		if !held {
			return fmt.Errorf("find %s on %s: it is gone", want.IP, name)
		}
	}
	return nil
}
