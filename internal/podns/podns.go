// SPDX-License-Identifier: Apache-2.0

// Package podns makes network namespaces that stand for pods: each is bound to a path, as a container runtime does it,
// and has a netlink handle of its own, so that a test looks into it without moving a thread. It may touch the path and
// the namespace behind it; it expects to run where mounting is allowed and where the mounts are private (package
// isolate).
package podns

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// NS is a pod's namespace. Close removes it.
type NS struct {
	// Path is what the runtime would give as CNI_NETNS.
	Path string
	// Netlink is a handle at the namespace.
	Netlink *netlink.Handle

	fd netns.NsHandle
}

// New makes a namespace with its loopback link up, and binds it to path, which must not exist.
func New(path string) (*NS, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("make the namespace's directory: %w", err)
	}
	mountPoint, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		return nil, fmt.Errorf("make the namespace's mount point: %w", err)
	}
	if err := mountPoint.Close(); err != nil {
		return nil, fmt.Errorf("close the namespace's mount point: %w", err)
	}
	result := make(chan error)
	go func() { result <- bindNew(path) }()
	if err := <-result; err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	n := &NS{Path: path, fd: netns.None()}
	if err := n.open(); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// bindNew leaves its thread in the namespace it came from; when that fails, the thread ends with the goroutine.
func bindNew(path string) error {
	runtime.LockOSThread()
	before, err := netns.Get()
	if err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("open the current namespace: %w", err)
	}
	defer before.Close()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("make a network namespace: %w", err)
	}
	bindErr := unix.Mount("/proc/thread-self/ns/net", path, "", unix.MS_BIND, "")
	if err := netns.Set(before); err != nil {
		return fmt.Errorf("go back to the former namespace: %w", err)
	}
	runtime.UnlockOSThread()
	if bindErr != nil {
		return fmt.Errorf("bind the namespace to %s: %w", path, bindErr)
	}
	return nil
}

func (n *NS) open() error {
	var err error
	if n.fd, err = netns.GetFromPath(n.Path); err != nil {
		return fmt.Errorf("open %s: %w", n.Path, err)
	}
	if n.Netlink, err = netlink.NewHandleAt(n.fd, unix.NETLINK_ROUTE); err != nil {
		return fmt.Errorf("open netlink at %s: %w", n.Path, err)
	}
	lo, err := n.Netlink.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("find lo at %s: %w", n.Path, err)
	}
	if err := n.Netlink.LinkSetUp(lo); err != nil {
		return fmt.Errorf("set lo up at %s: %w", n.Path, err)
	}
	return nil
}

// Close removes the namespace, and with it every link that is in it.
func (n *NS) Close() error {
	var errs []error
	if n.Netlink != nil {
		n.Netlink.Close()
	}
	if n.fd.IsOpen() {
		errs = append(errs, n.fd.Close())
	}
	if err := unix.Unmount(n.Path, unix.MNT_DETACH); err != nil {
		errs = append(errs, fmt.Errorf("unmount %s: %w", n.Path, err))
	}
	return errors.Join(append(errs, os.Remove(n.Path))...)
}

// AddPair gives the namespace a veth pair, both of whose ends are in it and up:
// name has the mtu and the addresses, which have prefix lengths.
func (n *NS) AddPair(name, peer string, mtu int, addresses ...string) error {
	veth := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name, MTU: mtu}, PeerName: peer}
	if err := n.Netlink.LinkAdd(veth); err != nil {
		return fmt.Errorf("make %s at %s: %w", name, n.Path, err)
	}
	for _, end := range []string{name, peer} {
		link, err := n.Netlink.LinkByName(end)
		if err != nil {
			return fmt.Errorf("find %s at %s: %w", end, n.Path, err)
		}
		if err := n.Netlink.LinkSetUp(link); err != nil {
			return fmt.Errorf("set %s up at %s: %w", end, n.Path, err)
		}
	}
	for _, a := range addresses {
		addr, err := netlink.ParseAddr(a)
		if err != nil {
			return fmt.Errorf("read address %s: %w", a, err)
		}
		if err := n.Netlink.AddrAdd(veth, addr); err != nil {
			return fmt.Errorf("add %s to %s at %s: %w", a, name, n.Path, err)
		}
	}
	return nil
}

// HasLink tells whether the namespace has a link of that name.
func (n *NS) HasLink(name string) (bool, error) {
	_, err := n.Netlink.LinkByName(name)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for %s at %s: %w", name, n.Path, err)
	}
	return true, nil
}

// HostLinks are the names of all links of the caller's own namespace.
func HostLinks() ([]string, error) {
	links, err := netlink.LinkList()
	if err != nil {
		return nil, fmt.Errorf("list the host's links: %w", err)
	}
	names := make([]string, 0, len(links))
	for _, link := range links {
		names = append(names, link.Attrs().Name)
	}
	return names, nil
}
