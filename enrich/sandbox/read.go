// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/result-enricher/result-enricher/enrich"
)

// Request says what to read beside the pod link and its addresses.
type Request struct {
	// IfName is the name of the pod link.
	IfName string
	// Links are further names whose hardware addresses are wanted.
	Links []string
	// DefaultRoutes asks for the default routes through the pod link.
	DefaultRoutes bool
}

// Observe reads the sandbox. What went wrong is in the observation: it then
// says that the sandbox could not be inspected, or that the addresses are
// incomplete. OwnSandboxes is left to the caller, who asks [Sandbox.Same].
func (s *Sandbox) Observe(request Request) enrich.Observation {
	obs, err := s.reader.observe(request)
	if err != nil {
		return enrich.Observation{Err: fmt.Errorf("read namespace %s: %w", s.path, err)}
	}
	return obs
}

// MAC reads the hardware address of one link, in net.HardwareAddr's spelling
// and empty when it has none. The error is ErrNoLink when there is no such link.
func (s *Sandbox) MAC(name string) (string, error) {
	link, err := s.reader.link(name)
	if err != nil {
		return "", fmt.Errorf("read link %q of namespace %s: %w", name, s.path, err)
	}
	return link.HardwareAddr.String(), nil
}

// conn is the part of netlink.Handle that the reader uses, so that its faults
// can be injected. Look-ups by name are single requests that the kernel answers
// at once; the lists are dumps, which end in netlink.ErrDumpInterrupted, beside
// what was read, when something changed meanwhile.
type conn interface {
	LinkByName(name string) (netlink.Link, error)
	AddrList(link netlink.Link, family int) ([]netlink.Addr, error)
	RouteListFiltered(family int, filter *netlink.Route, mask uint64) ([]netlink.Route, error)
	SetSocketTimeout(timeout time.Duration) error
}

// reader reads one namespace until the context's deadline.
type reader struct {
	ctx  context.Context
	conn conn
}

func (r *reader) observe(request Request) (enrich.Observation, error) {
	var obs enrich.Observation
	attrs, err := r.link(request.IfName)
	if errors.Is(err, ErrNoLink) {
		return obs, nil
	} else if err != nil {
		return obs, err
	}
	link := &enrich.Link{MTU: attrs.MTU, ParentDevice: attrs.ParentDev != ""}
	if len(attrs.HardwareAddr) == 6 {
		link.MAC = attrs.HardwareAddr.String()
	}
	if err := r.addresses(attrs, link); err != nil {
		return obs, err
	}
	if request.DefaultRoutes {
		if link.DefaultRoutes, err = r.defaultRoutes(attrs); err != nil {
			return obs, err
		}
	}
	if len(link.Addresses) == 0 {
		// A link that went meanwhile has no addresses either. An empty list says
		// something only about a link that is still there.
		again, err := r.link(request.IfName)
		if errors.Is(err, ErrNoLink) || err == nil && again.Index != attrs.Index {
			return obs, fmt.Errorf("%w: link %q was replaced while it was read", ErrInterrupted, request.IfName)
		} else if err != nil {
			return obs, err
		}
	}
	obs.Link = link
	obs.MACs, err = r.macs(request.Links)
	return obs, err
}

// link reads one link by its name. Other links that carry the name as an
// alternative name are not it: the kernel's look-up finds them too.
func (r *reader) link(name string) (*netlink.LinkAttrs, error) {
	if !PossibleName(name) {
		// The library answers the kernel's EINVAL with a dump of all links.
		return nil, fmt.Errorf("%w: %q is no name of a link", ErrNoLink, name)
	}
	if err := r.arm(); err != nil {
		return nil, err
	}
	link, err := r.conn.LinkByName(name)
	if err != nil {
		return nil, classify(err)
	}
	if attrs := link.Attrs(); attrs.Name == name {
		return attrs, nil
	}
	return nil, fmt.Errorf("%w: %q is an alternative name", ErrNoLink, name)
}

// macs reads the hardware addresses of the links that exist and have one.
func (r *reader) macs(names []string) (map[string]string, error) {
	if len(names) == 0 {
		return nil, nil
	}
	macs := map[string]string{}
	for _, name := range names {
		attrs, err := r.link(name)
		if errors.Is(err, ErrNoLink) {
			continue
		} else if err != nil {
			return nil, err
		}
		// A tunnel's "hardware address" is an IP address; it is no mac.
		if mac := attrs.HardwareAddr.String(); isMAC(mac) {
			macs[name] = mac
		}
	}
	return macs, nil
}

// addresses fills the local addresses of every state. A dump that stays
// interrupted until the deadline leaves them incomplete.
func (r *reader) addresses(attrs *netlink.LinkAttrs, link *enrich.Link) error {
	var addrs []netlink.Addr
	err := r.dump(func() (err error) {
		addrs, err = r.conn.AddrList(&netlink.Device{LinkAttrs: *attrs}, netlink.FAMILY_ALL)
		return err
	})
	if err != nil && !errors.Is(err, ErrInterrupted) {
		return err
	}
	link.AddressesComplete = err == nil
	for _, addr := range addrs {
		if addr.IPNet == nil {
			continue
		}
		if ip, ok := netip.AddrFromSlice(addr.IP); ok {
			link.Addresses = append(link.Addresses, ip.Unmap())
		}
	}
	return nil
}

// defaultRoutes reads the unicast default routes of the main table.
func (r *reader) defaultRoutes(attrs *netlink.LinkAttrs) ([]enrich.DefaultRoute, error) {
	var routes []netlink.Route
	err := r.dump(func() (err error) {
		// Not filtered by the outgoing link: the hops of a multipath route have it.
		routes, err = r.conn.RouteListFiltered(netlink.FAMILY_ALL,
			&netlink.Route{Table: unix.RT_TABLE_MAIN, Type: unix.RTN_UNICAST}, netlink.RT_FILTER_TABLE)
		return err
	})
	if err != nil {
		return nil, err
	}
	var defaults []enrich.DefaultRoute
	for _, route := range routes {
		hop, through := gatewayThrough(route, attrs.Index)
		if !through || !isDefault(route) {
			continue
		}
		defaults = append(defaults, enrich.DefaultRoute{
			IPv6: route.Family == netlink.FAMILY_V6, NextHop: hop, Metric: route.Priority,
		})
	}
	return defaults, nil
}

// isDefault compares the prefix length, not the address: 0.0.0.0/1 is half of
// the Internet. The library's Dst is nil or zero for a default route, depending
// on its release.
func isDefault(route netlink.Route) bool {
	if route.Type != unix.RTN_UNICAST || route.MPLSDst != nil {
		return false
	}
	if route.Dst == nil {
		return true
	}
	ones, _ := route.Dst.Mask.Size()
	return ones == 0
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

// dump repeats list until it is complete or the deadline has passed; it then
// returns ErrInterrupted, and what list has kept is a part.
func (r *reader) dump(list func() error) error {
	for pause := time.Millisecond; ; pause = min(2*pause, 64*time.Millisecond) {
		if err := r.arm(); err != nil {
			return err
		}
		err := classify(list())
		if !errors.Is(err, ErrInterrupted) {
			return err
		}
		// Whatever changes the sandbox needs the processor too.
		select {
		case <-r.ctx.Done():
			return fmt.Errorf("%w until the deadline", err)
		case <-time.After(pause):
		}
	}
}

// arm gives the next request what is left of the time.
func (r *reader) arm() error {
	deadline, ok := r.ctx.Deadline()
	if !ok {
		return nil
	}
	left := time.Until(deadline)
	if left < time.Microsecond {
		return classify(fmt.Errorf("read within the deadline: %w", os.ErrDeadlineExceeded))
	}
	return classify(r.conn.SetSocketTimeout(left))
}

// PossibleName reports whether a link can have the name: the kernel's
// dev_valid_name, and no colon, which it keeps for labels of addresses.
func PossibleName(name string) bool {
	return name != "" && len(name) < unix.IFNAMSIZ && name != "." && name != ".." &&
		!strings.ContainsAny(name, "/:\x00 \t\n\v\f\r")
}

func isMAC(s string) bool {
	_, err := net.ParseMAC(s)
	return err == nil
}
