// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"bytes"
	"errors"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/result-enricher/result-enricher/enrich"
)

// errShort says that a message ends before what it announces.
var errShort = errors.New("netlink message is too short")

// skipStatistics is RTEXT_FILTER_SKIP_STATS of linux/rtnetlink.h.
const skipStatistics = 1 << 3

// linkState is what the rules need of a link.
type linkState struct {
	index        int
	name         string
	mac          net.HardwareAddr
	mtu          int
	parentDevice bool
}

// Link asks for one link by its name: a single request, which cannot be
// interrupted. Without statistics, which nobody here reads. An answer that did not
// fit is asked for again; its names are bounded by what an attribute can say the
// length of, 64 KiB.
func (s *socket) Link(name string) (linkState, error) {
	request := nl.NewNetlinkRequest(unix.RTM_GETLINK, 0)
	request.AddData(nl.NewIfInfomsg(unix.AF_UNSPEC))
	request.AddData(nl.NewRtAttr(unix.IFLA_EXT_MASK, nl.Uint32Attr(skipStatistics)))
	request.AddData(nl.NewRtAttr(unix.IFLA_IFNAME, nl.ZeroTerminated(name)))
	var state linkState
	for {
		err := s.exchange(request, func(data []byte) (err error) {
			state, err = parseLink(data)
			return err
		})
		if !errors.Is(err, errTruncated) {
			return state, err
		}
	}
}

// Addresses dumps the local addresses of the link, of both families and every
// state. With errDumpInterrupted they are a part.
func (s *socket) Addresses(index int) ([]netip.Addr, error) {
	return whole(func(family int, filtered bool) ([]netip.Addr, bool, error) {
		return s.addresses(index, family, filtered)
	})
}

// whole asks for the addresses of one link, with the kernel's filter first. What
// comes in one datagram is one walk under RCU, which cannot lack an address that
// stays. What takes several is a place in a list that others change, and the kernel
// does not mark all that may lack something (as of Linux 6.18):
//
//   - what it filters by the link, never (inet_dump_addr and inet6_dump_addr set the
//     sequence that they compare only after the filter);
//   - of both families at once, not the end of the first, when so much was removed
//     that nothing is left to carry the mark (rtnl_dump_all); of one family, the
//     end of the dump carries it;
//   - a change that is in the list already, but not yet in the sequence
//     (fib_inetaddr_event). Each may hide one address.
//
// So such a list is asked for without the filter, by family, and twice: what is in
// neither answer is not there. The same goes for a kernel that refuses the filter.
func whole(ask func(family int, filtered bool) (addrs []netip.Addr, split bool, err error)) ([]netip.Addr, error) {
	addrs, split, err := ask(unix.AF_UNSPEC, true)
	if err != nil && !errors.Is(err, unix.EINVAL) || err == nil && !split {
		return addrs, err
	}
	var all []netip.Addr
	for _, family := range []int{unix.AF_INET, unix.AF_INET6, unix.AF_INET, unix.AF_INET6} {
		addrs, _, err = ask(family, false)
		all = append(all, addrs...)
		if err != nil {
			break
		}
	}
	slices.SortFunc(all, netip.Addr.Compare)
	return slices.Compact(all), err
}

// addresses dumps those of a family, with or without the kernel's filter by the
// link. split says that those of one family came in several datagrams.
func (s *socket) addresses(index, family int, filtered bool) (addrs []netip.Addr, split bool, err error) {
	request := nl.NewNetlinkRequest(unix.RTM_GETADDR, unix.NLM_F_DUMP)
	message := nl.NewIfAddrmsg(family)
	if filtered {
		message.Index = uint32(index)
	}
	request.AddData(message)
	cameIn := map[byte]int{}
	err = s.exchange(request, func(data []byte) error {
		of, addr, err := parseAddress(data)
		if err != nil {
			return err
		}
		if in, ok := cameIn[data[0]]; ok && in != s.datagrams {
			split = true
		}
		cameIn[data[0]] = s.datagrams
		if of == index && addr.IsValid() {
			addrs = append(addrs, addr)
		}
		return nil
	})
	return addrs, split, err
}

// DefaultRoutes dumps the unicast default routes of the main table through the
// link. The kernel filters the table; the link is looked for here, since the
// hops of a multipath route have it too.
func (s *socket) DefaultRoutes(index int) ([]enrich.DefaultRoute, error) {
	var routes []enrich.DefaultRoute
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		request := nl.NewNetlinkRequest(unix.RTM_GETROUTE, unix.NLM_F_DUMP)
		message := &nl.RtMsg{}
		message.Family, message.Table = family, unix.RT_TABLE_MAIN
		request.AddData(message)
		err := s.exchange(request, func(data []byte) error {
			route, ok, err := parseDefaultRoute(data, index)
			if ok {
				routes = append(routes, route)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return routes, nil
}

// attributes gives every attribute behind a header of the given size. Unlike the
// library's parser it takes a last attribute without padding.
func attributes(data []byte, header int, each func(kind uint16, value []byte)) error {
	if len(data) < header {
		return errShort
	}
	data = data[header:]
	for len(data) >= unix.SizeofRtAttr {
		length := int(nl.NativeEndian().Uint16(data))
		if length < unix.SizeofRtAttr || length > len(data) {
			return errShort
		}
		each(nl.NativeEndian().Uint16(data[2:])&^(unix.NLA_F_NESTED|unix.NLA_F_NET_BYTEORDER), data[unix.SizeofRtAttr:length])
		data = data[min(aligned(length), len(data)):]
	}
	return nil
}

// aligned rounds up to the boundary of 4 bytes at which attributes and hops start.
func aligned(length int) int { return (length + unix.RTA_ALIGNTO - 1) &^ (unix.RTA_ALIGNTO - 1) }

func parseLink(data []byte) (linkState, error) {
	var state linkState
	err := attributes(data, unix.SizeofIfInfomsg, func(kind uint16, value []byte) {
		switch kind {
		case unix.IFLA_IFNAME:
			state.name = string(bytes.TrimRight(value, "\x00"))
		case unix.IFLA_ADDRESS:
			// All zero is none: lo, and links without one of their own.
			if len(bytes.Trim(value, "\x00")) > 0 {
				state.mac = bytes.Clone(value)
			}
		case unix.IFLA_MTU:
			state.mtu = int(number(value))
		case unix.IFLA_PARENT_DEV_NAME:
			state.parentDevice = len(bytes.Trim(value, "\x00")) > 0
		}
	})
	if err != nil {
		return linkState{}, err
	}
	state.index = int(nl.DeserializeIfInfomsg(data).Index)
	return state, nil
}

// parseAddress gives the local address of a message and its link. IFA_ADDRESS is
// the peer's where the two differ.
func parseAddress(data []byte) (index int, addr netip.Addr, err error) {
	var local, address []byte
	err = attributes(data, unix.SizeofIfAddrmsg, func(kind uint16, value []byte) {
		switch kind {
		case unix.IFA_LOCAL:
			local = value
		case unix.IFA_ADDRESS:
			address = value
		}
	})
	if err != nil {
		return 0, netip.Addr{}, err
	}
	if local == nil {
		local = address
	}
	addr, _ = netip.AddrFromSlice(local)
	return int(nl.DeserializeIfAddrmsg(data).Index), addr.Unmap(), nil
}

// parseDefaultRoute reads a route; ok says that it is a unicast default route of
// the main table through the link. What counts is the prefix length, not the
// address: 0.0.0.0/1 is half of the Internet.
func parseDefaultRoute(data []byte, index int) (route enrich.DefaultRoute, ok bool, err error) {
	var gateway, hops []byte
	err = attributes(data, unix.SizeofRtMsg, func(kind uint16, value []byte) {
		switch kind {
		case unix.RTA_OIF:
			ok = int(number(value)) == index
		case unix.RTA_GATEWAY:
			gateway = value
		case unix.RTA_PRIORITY:
			route.Metric = int(number(value))
		case unix.RTA_MULTIPATH:
			hops = value
		}
	})
	if err != nil {
		return enrich.DefaultRoute{}, false, err
	}
	message := nl.DeserializeRtMsg(data)
	if message.Dst_len != 0 || message.Type != unix.RTN_UNICAST || message.Table != unix.RT_TABLE_MAIN || message.Flags&unix.RTM_F_CLONED != 0 {
		return enrich.DefaultRoute{}, false, nil
	}
	if !ok && hops != nil {
		if gateway, ok, err = hopThrough(hops, index); err != nil {
			return enrich.DefaultRoute{}, false, err
		}
	}
	route.IPv6 = message.Family == unix.AF_INET6
	hop, _ := netip.AddrFromSlice(gateway)
	route.NextHop = hop.Unmap()
	return route, ok, nil
}

// hopThrough finds the first hop of a multipath route through the link, and its
// gateway. Hops are of the shape of a route attribute (rtnexthop): a length, the
// link, and attributes.
func hopThrough(hops []byte, index int) (gateway []byte, ok bool, err error) {
	for len(hops) >= unix.SizeofRtNexthop {
		hop := nl.DeserializeRtNexthop(hops)
		length := int(hop.RtNexthop.Len)
		if length < unix.SizeofRtNexthop || length > len(hops) {
			return nil, false, errShort
		}
		if int(hop.Ifindex) == index {
			err = attributes(hops[:length], unix.SizeofRtNexthop, func(kind uint16, value []byte) {
				if kind == unix.RTA_GATEWAY {
					gateway = value
				}
			})
			return gateway, err == nil, err
		}
		hops = hops[min(aligned(length), len(hops)):]
	}
	return nil, false, nil
}

// number reads an attribute of 32 bits, 0 for one that is shorter.
func number(value []byte) uint32 {
	if len(value) < 4 {
		return 0
	}
	return nl.NativeEndian().Uint32(value)
}
