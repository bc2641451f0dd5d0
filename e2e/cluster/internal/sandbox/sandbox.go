// SPDX-License-Identifier: Apache-2.0

// Package sandbox makes network namespaces as container runtimes do, and reads
// from the kernel what is really in them.
//
// Nothing here knows of CNI: what it returns is what the tests hold Results against.
package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

const (
	runDir     = "/var/run/netns"
	dumpWithin = 10 * time.Second
)

// New makes a network namespace and returns its path. It is unmounted and
// removed at the end of the running Ginkgo node.
func New(name string) string {
	ginkgo.GinkgoHelper()
	path := filepath.Join(runDir, name)
	gomega.Expect(os.MkdirAll(runDir, 0o755)).To(gomega.Succeed())
	gomega.Expect(os.WriteFile(path, nil, 0o444)).To(gomega.Succeed())
	ginkgo.DeferCleanup(remove, path)

	done := make(chan error)
	go func() {
		// Never unlocked: the thread stays in the new namespace, so it has to end with the goroutine.
		runtime.LockOSThread()
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			done <- fmt.Errorf("create network namespace: %w", err)
			return
		}
		self := fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid())
		done <- unix.Mount(self, path, "", unix.MS_BIND, "")
	}()
	gomega.Expect(<-done).To(gomega.Succeed())
	return path
}

func remove(path string) error {
	return errors.Join(unix.Unmount(path, unix.MNT_DETACH), os.Remove(path))
}

// Link is a network interface as the kernel has it.
type Link struct {
	Name string
	// MAC is in the form of net.HardwareAddr.String, like that of Results.
	MAC string
	MTU int
	// Kind is the link's type: veth, macvlan and so on.
	Kind string
	// Peer is the index of a veth's other end.
	Peer int
	// Addresses are the global ones, without prefix length, IPv4 first.
	Addresses []string
}

// Read returns a link of the namespace at path.
func Read(path, name string) (Link, error) {
	handle, link, err := find(path, name)
	if err != nil {
		return Link{}, err
	}
	defer handle.Close()
	attrs := link.Attrs()
	found := Link{Name: attrs.Name, MAC: attrs.HardwareAddr.String(), MTU: attrs.MTU, Kind: link.Type(), Peer: attrs.ParentIndex}
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		addresses, err := complete(func() ([]netlink.Addr, error) { return handle.AddrList(link, family) })
		if err != nil {
			return Link{}, fmt.Errorf("list addresses of %s in %s: %w", name, path, err)
		}
		for _, address := range addresses {
			if address.Scope == unix.RT_SCOPE_UNIVERSE {
				found.Addresses = append(found.Addresses, address.IP.String())
			}
		}
	}
	return found, nil
}

// SetMAC gives a link of the namespace at path another hardware address.
func SetMAC(path, name, mac string) error {
	address, err := net.ParseMAC(mac)
	if err != nil {
		return err
	}
	handle, link, err := find(path, name)
	if err != nil {
		return err
	}
	defer handle.Close()
	if err := handle.LinkSetHardwareAddr(link, address); err != nil {
		return fmt.Errorf("set hardware address of %s in %s: %w", name, path, err)
	}
	return nil
}

// find returns a link, and the handle to look further at it, which the caller closes.
func find(path, name string) (*netlink.Handle, netlink.Link, error) {
	ns, err := netns.GetFromPath(path)
	if err != nil {
		return nil, nil, fmt.Errorf("open %s: %w", path, err)
	}
	defer ns.Close()
	handle, err := netlink.NewHandleAt(ns, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, nil, fmt.Errorf("enter %s: %w", path, err)
	}
	link, err := handle.LinkByName(name)
	if err != nil {
		handle.Close()
		return nil, nil, fmt.Errorf("find %s in %s: %w", name, path, err)
	}
	return handle, link, nil
}

// HostLinks returns the names of the links outside of the sandboxes.
func HostLinks() ([]string, error) {
	links, err := complete(netlink.LinkList)
	if err != nil {
		return nil, fmt.Errorf("list links: %w", err)
	}
	var names []string
	for _, link := range links {
		names = append(names, link.Attrs().Name)
	}
	slices.Sort(names)
	return names, nil
}

// HostLink returns the name of the link with the given index.
func HostLink(index int) (string, error) {
	link, err := netlink.LinkByIndex(index)
	if err != nil {
		return "", fmt.Errorf("find link %d: %w", index, err)
	}
	return link.Attrs().Name, nil
}

// CanShape reports whether the kernel has the kind of link that limits what a pod sends.
func CanShape() bool {
	attrs := netlink.NewLinkAttrs()
	attrs.Name = "try-ifb"
	ifb := &netlink.Ifb{LinkAttrs: attrs}
	return netlink.LinkAdd(ifb) == nil && netlink.LinkDel(ifb) == nil
}

// HostRoutes returns the destinations of all routes outside of the sandboxes to the address.
func HostRoutes(address string) ([]string, error) {
	ip := net.ParseIP(address)
	family, bits := netlink.FAMILY_V4, 32
	if ip.To4() == nil {
		family, bits = netlink.FAMILY_V6, 128
	}
	to := &netlink.Route{Dst: &net.IPNet{IP: ip, Mask: net.CIDRMask(bits, bits)}}
	routes, err := complete(func() ([]netlink.Route, error) {
		return netlink.RouteListFiltered(family, to, netlink.RT_FILTER_DST)
	})
	if err != nil {
		return nil, fmt.Errorf("list routes to %s: %w", address, err)
	}
	var found []string
	for _, route := range routes {
		found = append(found, route.String())
	}
	return found, nil
}

// complete repeats a dump that the kernel says was interrupted: something was
// added or removed meanwhile, and what was read may lack more than that.
func complete[T any](dump func() ([]T, error)) ([]T, error) {
	for deadline := time.Now().Add(dumpWithin); ; {
		found, err := dump()
		if !errors.Is(err, netlink.ErrDumpInterrupted) || time.Now().After(deadline) {
			return found, err
		}
	}
}
