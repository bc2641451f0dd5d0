// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"bytes"
	"sync/atomic"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// tampering is what comes in the place of an answer, from what the kernel says
// first. It is asked for every receive behind the request.
type tampering func(c *trapped) verdict

// instead is a datagram in the place of all that the kernel says. Then nothing
// comes, which is how the kernel's timeout shows.
func instead(alter func(c *trapped, d *datagram) *datagram) tampering {
	return func(c *trapped) verdict {
		if c.receive == 1 {
			taken := c.takeUpTo(forever)
			return verdict{datagram: alter(c, taken[0])}
		}
		return verdict{errno: unix.EAGAIN}
	}
}

// ahead is a datagram in front of what the kernel says.
func ahead(forge func(c *trapped) *datagram) tampering {
	return func(c *trapped) verdict {
		if c.receive == 1 {
			return verdict{datagram: forge(c)}
		}
		return verdict{}
	}
}

func refusal(errno syscall.Errno) tampering {
	return instead(func(c *trapped, _ *datagram) *datagram { return nlmsgError(c.raw(), errno) })
}

// raw is the request that is answered.
func (c *trapped) raw() []byte { return c.by.asked[c.request-1].raw }

// reply is a message of the kind and the sequence number that the plugin waits for.
func reply(c *trapped, payload []byte) *datagram {
	request := c.raw()
	m := nl.NewNetlinkRequest(0, 0)
	// RTM_NEWLINK and RTM_GETLINK and so on are two apart.
	m.Type = nl.NativeEndian().Uint16(request[nlmsgType:]) - 2
	m.Flags = unix.NLM_F_MULTI
	m.Seq = nl.NativeEndian().Uint32(request[nlmsgSeq:])
	m.AddRawData(payload)
	return &datagram{data: m.Serialize()}
}

// headers are the sizes of what stands in front of the attributes.
var headers = map[uint16]int{unix.RTM_GETLINK: unix.SizeofIfInfomsg, unix.RTM_GETADDR: unix.SizeofIfAddrmsg, unix.RTM_GETROUTE: unix.SizeofRtMsg}

var _ = Describe("an answer that is none", func() {
	const (
		podsLink = 1 + iota
		addresses
		routes4
		routes6
		otherLink
	)
	// What ADD makes of an answer to one of its requests.
	type ends map[int]outcome
	all := func(o outcome) ends {
		return ends{podsLink: o, addresses: o, routes4: o, routes6: o, otherLink: o}
	}
	except := func(e ends, o outcome, requests ...int) ends {
		for _, r := range requests {
			e[r] = o
		}
		return e
	}
	fine := outcome{right: "whole"}
	unexpected := func(reason string) outcome { return outcome{reason: reason, code: 999} }
	interrupted := outcome{reason: "interrupted", code: 11}
	// What is asked for once is given up, and a dump is asked for again.
	dumpsAgain := except(all(interrupted), fine, addresses, routes4, routes6)

	DescribeTable("ends in prevResult, or in the right Result",
		func(tamper tampering, want ends) {
			ns := routedPod()
			prev := twoLinks(ns.Path)
			env := environment("ADD", ns.Path)
			whole := start(env, conf("0.3.1", wantsGateways, prev))
			Expect(whole.stdout).To(And(ContainSubstring(podLink.MAC), ContainSubstring(secondLink.MAC), ContainSubstring(gateway)))
			for request := podsLink; request <= otherLink; request++ {
				By("the answer to request " + string(rune('0'+request)))
				w := want[request]
				if w == fine {
					w.right = whole.stdout
				}
				var tampered atomic.Int64
				t := try(ns.Path, wantsGateways, prev, always(func(c *trapped) verdict {
					if c.name != "recvfrom" || c.request != request {
						return verdict{}
					}
					tampered.Add(1)
					return tamper(c)
				}))
				t.endsIn(w)
				Expect(tampered.Load()).To(BeNumerically(">=", 2), "once under each policy")
			}
		},
		Entry("an empty datagram in front", ahead(func(*trapped) *datagram { return &datagram{} }), all(fine)),
		Entry("less than a header in front", ahead(func(c *trapped) *datagram {
			return &datagram{data: nlmsgError(c.raw(), unix.EPERM).data[:unix.SizeofNlMsghdr-1]}
		}), all(fine)),
		Entry("the answer to another request in front", ahead(func(c *trapped) *datagram {
			d := nlmsgError(c.raw(), unix.EPERM)
			nl.NativeEndian().PutUint32(d.data[nlmsgSeq:], 77)
			return d
		}), all(fine)),
		Entry("an answer of the former request in front", ahead(func(c *trapped) *datagram {
			d := nlmsgError(c.raw(), unix.EPERM)
			nl.NativeEndian().PutUint32(d.data[nlmsgSeq:], nl.NativeEndian().Uint32(d.data[nlmsgSeq:])-1)
			return d
		}), all(fine)),
		Entry("another sender's refusal in front", ahead(func(c *trapped) *datagram {
			return &datagram{nlmsgError(c.raw(), unix.EPERM).data, 4242}
		}), all(fine)),
		Entry("another sender's lie in front", ahead(func(*trapped) *datagram {
			return &datagram{bytes.Join(lies(1), nil), 4242}
		}), all(fine)),
		Entry("another sender's garbage in front", ahead(func(*trapped) *datagram {
			return &datagram{bytes.Repeat([]byte{0xff}, 1_000), 4242}
		}), all(fine)),
		Entry("a signal in front", tampering(func(c *trapped) verdict {
			if c.receive <= 3 {
				return verdict{errno: unix.EINTR}
			}
			return verdict{}
		}), all(fine)),

		Entry("an empty datagram", instead(func(*trapped, *datagram) *datagram { return &datagram{} }), dumpsAgain),
		Entry("less than a header", instead(func(_ *trapped, d *datagram) *datagram { return &datagram{data: d.data[:unix.SizeofNlMsghdr-1]} }), dumpsAgain),
		Entry("another sequence number", instead(func(_ *trapped, d *datagram) *datagram {
			d.each(func(m []byte) { nl.NativeEndian().PutUint32(m[nlmsgSeq:], 77) })
			return d
		}), dumpsAgain),
		Entry("another sender", instead(func(_ *trapped, d *datagram) *datagram { return &datagram{d.data, 4242} }), dumpsAgain),

		// EINVAL, which a kernel that cannot filter says too, has the addresses
		// asked for without the filter.
		Entry("a datagram that ends too early", instead(func(_ *trapped, d *datagram) *datagram { return &datagram{data: d.data[:len(d.data)-4]} }),
			except(all(unexpected("parse what netlink sent")), fine, addresses)),
		Entry("a length that is too small", instead(func(_ *trapped, d *datagram) *datagram {
			nl.NativeEndian().PutUint32(d.data, unix.SizeofNlMsghdr-1)
			return d
		}), except(all(unexpected("parse what netlink sent")), fine, addresses)),
		Entry("a length that is too large", instead(func(_ *trapped, d *datagram) *datagram {
			nl.NativeEndian().PutUint32(d.data, 1<<31)
			return d
		}), except(all(unexpected("parse what netlink sent")), fine, addresses)),

		Entry("a message that is too short", instead(func(c *trapped, _ *datagram) *datagram { return reply(c, make([]byte, 4)) }), all(unexpected("too short"))),
		Entry("a message without a payload", instead(func(c *trapped, _ *datagram) *datagram { return reply(c, nil) }), all(unexpected("too short"))),
		Entry("an attribute that is longer than the message", instead(func(c *trapped, _ *datagram) *datagram {
			header := headers[nl.NativeEndian().Uint16(c.raw()[nlmsgType:])]
			return reply(c, append(make([]byte, header), 200, 0, 1, 0))
		}), all(unexpected("too short"))),
		Entry("an attribute that is shorter than its header", instead(func(c *trapped, _ *datagram) *datagram {
			header := headers[nl.NativeEndian().Uint16(c.raw()[nlmsgType:])]
			return reply(c, append(make([]byte, header), 1, 0, 1, 0))
		}), all(unexpected("too short"))),
		// A link is asked for again, with room for the answer.
		Entry("a datagram that is longer than the buffer", instead(func(c *trapped, d *datagram) *datagram {
			return &datagram{data: append(d.data, make([]byte, int(c.args[2])+1-len(d.data))...)}
		}), except(all(unexpected("did not fit")), fine, podsLink, otherLink)),

		Entry("EPERM", refusal(unix.EPERM), all(outcome{reason: "not permitted", code: 8})),
		Entry("EBUSY", refusal(unix.EBUSY), all(unexpected("device or resource busy"))),
		Entry("ENOMEM", refusal(unix.ENOMEM), all(unexpected("cannot allocate memory"))),
		Entry("EINVAL", refusal(unix.EINVAL), except(all(unexpected("invalid argument")), fine, addresses)),
		Entry("EAGAIN", refusal(unix.EAGAIN), dumpsAgain),
		Entry("a dump that ends in ENOMEM", instead(func(c *trapped, d *datagram) *datagram {
			last := nlmsgError(c.raw(), unix.ENOMEM)
			nl.NativeEndian().PutUint16(last.data[nlmsgType:], unix.NLMSG_DONE)
			if c.request == podsLink || c.request == otherLink {
				return last
			}
			var kept []byte
			d.each(func(m []byte) {
				if nl.NativeEndian().Uint16(m[nlmsgType:]) != unix.NLMSG_DONE {
					kept = append(kept, m...)
				}
			})
			return &datagram{data: append(kept, last.data...)}
		}), all(unexpected("cannot allocate memory"))),
		Entry("a receive buffer that ran over", tampering(func(*trapped) verdict { return verdict{errno: unix.ENOBUFS} }), all(unexpected("no buffer space"))),
	)
})
