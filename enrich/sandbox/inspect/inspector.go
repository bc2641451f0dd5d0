// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/result-enricher/result-enricher/enrich/sandbox"
)

// Inspector looks into one sandbox from the caller's namespace.
type Inspector struct {
	path      string
	pod, host side
	// callerNS is an open file of the caller's network namespace.
	callerNS int
	close    func()
}

// Open opens the sandbox at path for as long as ctx allows. The caller's thread
// must be in the namespace that is called the host's. The error wraps
// sandbox.ErrNoNamespace, ErrNotNamespace or ErrNotPermitted where one is the
// cause.
func Open(ctx context.Context, path string) (*Inspector, error) {
	// It says what the path is, and why it cannot be entered.
	s, err := sandbox.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	s.Close()
	i, err := open(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("open namespace %s: %w", path, err)
	}
	return i, nil
}

func open(ctx context.Context, path string) (i *Inspector, err error) {
	var undo []func()
	closeAll := func() {
		for _, f := range undo {
			f()
		}
	}
	defer func() {
		if err != nil {
			closeAll()
		}
	}()
	callerNS, err := netns.GetFromPath("/proc/thread-self/ns/net")
	if err != nil {
		return nil, fmt.Errorf("open the own namespace: %w", classify(err))
	}
	undo = append(undo, func() { unix.Close(int(callerNS)) })
	podNS, err := netns.GetFromPath(path)
	if err != nil {
		return nil, classify(err)
	}
	undo = append(undo, func() { unix.Close(int(podNS)) })
	pod, err := netlink.NewHandleAt(podNS, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, classify(err)
	}
	undo = append(undo, pod.Close)
	host, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return nil, classify(err)
	}
	undo = append(undo, host.Close)
	return &Inspector{
		path: path, pod: side{ctx, pod}, host: side{ctx, host}, callerNS: int(callerNS), close: closeAll,
	}, nil
}

// Close releases the sandbox.
func (i *Inspector) Close() { i.close() }

// Interface describes the link of that name. It needs no dump of links, so it
// is as cheap on a node with many pods. The error is sandbox.ErrNoLink when there
// is no such link.
func (i *Inspector) Interface(name string) (Interface, error) {
	found, err := i.describe(name)
	if err != nil {
		return Interface{}, fmt.Errorf("read link %q of namespace %s: %w", name, i.path, err)
	}
	return found, nil
}

// Taps names the tap devices of the sandbox, sorted. It dumps the sandbox's
// links.
func (i *Inspector) Taps() ([]string, error) {
	names, err := i.taps()
	if err != nil {
		return nil, fmt.Errorf("list the taps of namespace %s: %w", i.path, err)
	}
	return names, nil
}

// kernel is the part of netlink.Handle that is used, so that kinds of links can
// be tested that the machine's kernel lacks.
type kernel interface {
	LinkByName(name string) (netlink.Link, error)
	LinkByIndex(index int) (netlink.Link, error)
	LinkList() ([]netlink.Link, error)
	AddrList(link netlink.Link, family int) ([]netlink.Addr, error)
	RouteListFiltered(family int, filter *netlink.Route, mask uint64) ([]netlink.Route, error)
	GetNetNsIdByFd(fd int) (int, error)
	SetSocketTimeout(timeout time.Duration) error
}

// side is the kernel as seen from one namespace, until the context's deadline.
type side struct {
	ctx    context.Context
	kernel kernel
}

// link reads one link by its name; one that has it as an alternative name is not
// it.
func (s side) link(name string) (netlink.Link, error) {
	if !sandbox.PossibleName(name) {
		// The library answers the kernel's EINVAL with a dump of all links.
		return nil, fmt.Errorf("%w: %q is no name of a link", sandbox.ErrNoLink, name)
	}
	if err := s.arm(); err != nil {
		return nil, err
	}
	link, err := s.kernel.LinkByName(name)
	if err != nil {
		return nil, classify(err)
	}
	if link.Attrs().Name != name {
		return nil, fmt.Errorf("%w: %q is an alternative name", sandbox.ErrNoLink, name)
	}
	return link, nil
}

// dump repeats list until nothing interrupts it, or the time is over.
func (s side) dump(list func() error) error {
	for {
		if err := s.arm(); err != nil {
			return err
		}
		if err := list(); !errors.Is(err, netlink.ErrDumpInterrupted) {
			return classify(err)
		}
		select {
		case <-s.ctx.Done():
			return fmt.Errorf("%w: %w", sandbox.ErrInterrupted, s.ctx.Err())
		case <-time.After(time.Millisecond):
		}
	}
}

// arm gives the next request what is left of the time.
func (s side) arm() error {
	deadline, ok := s.ctx.Deadline()
	if !ok {
		return nil
	}
	left := time.Until(deadline)
	if left < time.Microsecond {
		return fmt.Errorf("%w: the time is over", sandbox.ErrInterrupted)
	}
	return classify(s.kernel.SetSocketTimeout(left))
}

// classify adds the sentinel of package sandbox that fits the cause.
func classify(err error) error {
	var notFound netlink.LinkNotFoundError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &notFound), errors.Is(err, unix.ENODEV):
		return fmt.Errorf("%w: %w", sandbox.ErrNoLink, err)
	case errors.Is(err, unix.EAGAIN):
		// How the library says that a socket's time is over.
		return fmt.Errorf("%w: %w", sandbox.ErrInterrupted, err)
	case errors.Is(err, fs.ErrPermission), strings.Contains(err.Error(), unix.EPERM.Error()):
		// The library flattens the error of setns into text.
		return fmt.Errorf("%w: %w", sandbox.ErrNotPermitted, err)
	default:
		return err
	}
}

// gatewayThrough gives the next hop of route through the link: the zero Addr
// for a route without one.
func gatewayThrough(route netlink.Route, index int) (netip.Addr, bool) {
	gw, through := route.Gw, route.LinkIndex == index
	for _, hop := range route.MultiPath {
		if !through && hop.LinkIndex == index {
			gw, through = hop.Gw, true
		}
	}
	hop, _ := netip.AddrFromSlice(gw)
	return hop.Unmap(), through
}
