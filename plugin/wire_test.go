// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"bytes"
	"fmt"
	"net"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vishvananda/netlink/nl"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/result-enricher/result-enricher/internal/podns"
)

// inWords is a request in the words of the kernel's headers.
func inWords(raw []byte) string {
	messages, err := syscall.ParseNetlinkMessage(raw)
	if err != nil || len(messages) != 1 {
		return fmt.Sprintf("%d messages (%v) in %x", len(messages), err, raw)
	}
	m := messages[0]
	words, header := fmt.Sprintf("message %d", m.Header.Type), len(m.Data)
	switch m.Header.Type {
	case unix.RTM_GETLINK:
		h := nl.DeserializeIfInfomsg(m.Data)
		words, header = fmt.Sprintf("RTM_GETLINK ifi_index=%d", h.Index), unix.SizeofIfInfomsg
	case unix.RTM_GETADDR:
		h := nl.DeserializeIfAddrmsg(m.Data)
		words, header = fmt.Sprintf("RTM_GETADDR ifa_family=%d ifa_index=%d", h.Family, h.Index), unix.SizeofIfAddrmsg
	case unix.RTM_GETROUTE:
		h := nl.DeserializeRtMsg(m.Data)
		words, header = fmt.Sprintf("RTM_GETROUTE rtm_family=%d rtm_table=%d", h.Family, h.Table), unix.SizeofRtMsg
	}
	switch flags := m.Header.Flags; flags {
	case unix.NLM_F_REQUEST:
	case unix.NLM_F_REQUEST | unix.NLM_F_DUMP:
		words += " NLM_F_DUMP"
	default:
		words += fmt.Sprintf(" nlmsg_flags=%#x", flags)
	}
	attributes, err := nl.ParseRouteAttr(m.Data[header:])
	if err != nil {
		return words + " " + err.Error()
	}
	for _, a := range attributes {
		switch {
		case m.Header.Type == unix.RTM_GETLINK && a.Attr.Type == unix.IFLA_IFNAME:
			words += fmt.Sprintf(" IFLA_IFNAME=%s", bytes.TrimRight(a.Value, "\x00"))
		case m.Header.Type == unix.RTM_GETLINK && a.Attr.Type == unix.IFLA_EXT_MASK:
			words += fmt.Sprintf(" IFLA_EXT_MASK=%d", nl.NativeEndian().Uint32(a.Value))
		default:
			words += fmt.Sprintf(" attribute %d=%x", a.Attr.Type, a.Value)
		}
	}
	return words
}

// The requests of the plugin. Link 0 is every link.
func getLink(name string) string {
	return "RTM_GETLINK ifi_index=0 IFLA_EXT_MASK=8 IFLA_IFNAME=" + name
}

func getAddresses(family, link int) string {
	return fmt.Sprintf("RTM_GETADDR ifa_family=%d ifa_index=%d NLM_F_DUMP", family, link)
}

func getRoutes(family int) string {
	return fmt.Sprintf("RTM_GETROUTE rtm_family=%d rtm_table=%d NLM_F_DUMP", family, unix.RT_TABLE_MAIN)
}

// requests are all that were sent, in their order.
func (s *supervisor) requests() []string {
	words := []string{}
	for _, e := range s.asked {
		words = append(words, e.request)
	}
	return words
}

// receives is how often was received after each of them.
func (s *supervisor) receives() []int {
	counts := []int{}
	for _, e := range s.asked {
		counts = append(counts, e.receives)
	}
	return counts
}

// Fields of struct nlmsghdr.
const (
	nlmsgType  = 4
	nlmsgFlags = 6
	nlmsgSeq   = 8
)

// each calls f with the bytes of every message of a datagram, with its header.
func (d *datagram) each(f func(message []byte)) {
	GinkgoHelper()
	for rest := d.data; len(rest) > 0; {
		length := int(nl.NativeEndian().Uint32(rest))
		Expect(length).To(And(BeNumerically(">=", unix.SizeofNlMsghdr), BeNumerically("<=", len(rest))))
		f(rest[:length])
		rest = rest[min((length+unix.NLMSG_ALIGNTO-1)&^(unix.NLMSG_ALIGNTO-1), len(rest)):]
	}
}

// interrupted marks every message, as the kernel does when something changed
// since the dump began.
func (d *datagram) interrupted() *datagram {
	GinkgoHelper()
	d.each(func(m []byte) {
		nl.NativeEndian().PutUint16(m[nlmsgFlags:], nl.NativeEndian().Uint16(m[nlmsgFlags:])|unix.NLM_F_DUMP_INTR)
	})
	return d
}

// without leaves out an address.
func (d *datagram) without(address string) *datagram {
	GinkgoHelper()
	kept := &datagram{port: d.port}
	d.each(func(m []byte) {
		if nl.NativeEndian().Uint16(m[nlmsgType:]) != unix.RTM_NEWADDR || !bytes.Contains(m, net.ParseIP(address).To4()) {
			kept.data = append(kept.data, m...)
		}
	})
	return kept
}

// nlmsgError is the kernel's refusal of a request.
func nlmsgError(request []byte, errno syscall.Errno) *datagram {
	m := nl.NewNetlinkRequest(unix.NLMSG_ERROR, 0)
	m.Flags = 0
	m.Seq = nl.NativeEndian().Uint32(request[nlmsgSeq:])
	m.AddRawData(nl.Uint32Attr(uint32(-int32(errno))))
	m.AddRawData(request[:unix.SizeofNlMsghdr])
	return &datagram{data: m.Serialize()}
}

// datagrams asks the kernel the same once more, and gives the number of datagrams
// that each of the answers takes. The kernel heeds the size of the buffers that
// were received into before, so it is the plugin's, and there is one socket for all.
func datagrams(ns *podns.NS, asked []exchange) []int {
	GinkgoHelper()
	where, err := netns.GetFromPath(ns.Path)
	Expect(err).NotTo(HaveOccurred())
	defer where.Close()
	socket, err := nl.GetNetlinkSocketAt(where, netns.None(), unix.NETLINK_ROUTE)
	Expect(err).NotTo(HaveOccurred())
	defer socket.Close()
	fd := socket.GetFd()
	Expect(unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_GET_STRICT_CHK, 1)).To(Succeed())
	counts := []int{}
	for _, e := range asked {
		Expect(unix.Sendto(fd, e.raw, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})).To(Succeed())
		buf := make([]byte, e.buffer)
		n := 0
		for last := false; !last; n++ {
			length, _, err := unix.Recvfrom(fd, buf, unix.MSG_DONTWAIT|unix.MSG_TRUNC)
			Expect(err).NotTo(HaveOccurred())
			if last = length > len(buf); last {
				// The plugin had to ask again, too.
				continue
			}
			(&datagram{data: buf[:length]}).each(func(m []byte) {
				multi := nl.NativeEndian().Uint16(m[nlmsgFlags:])&unix.NLM_F_MULTI != 0
				last = !multi || nl.NativeEndian().Uint16(m[nlmsgType:]) == unix.NLMSG_DONE
			})
		}
		counts = append(counts, n)
	}
	return counts
}
