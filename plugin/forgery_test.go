// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vishvananda/netlink/nl"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/result-enricher/result-enricher/internal/fieldcase"
	"github.com/result-enricher/result-enricher/internal/podns"
)

// forger writes to the netlink sockets of others in the pod's namespace, which
// whoever has CAP_NET_ADMIN there may. A socket's address is the process ID of
// who opened it.
type forger struct {
	sent atomic.Int64
	stop atomic.Bool
	done sync.WaitGroup
}

// forge sends the messages to the socket of a process, over and over, from as
// many threads as told.
func forge(ns *podns.NS, pid, threads int, messages [][]byte) *forger {
	GinkgoHelper()
	where, err := netns.GetFromPath(ns.Path)
	Expect(err).NotTo(HaveOccurred())
	defer where.Close()
	f := &forger{}
	for range threads {
		socket, err := nl.GetNetlinkSocketAt(where, netns.None(), unix.NETLINK_ROUTE)
		Expect(err).NotTo(HaveOccurred())
		f.done.Go(func() {
			defer GinkgoRecover()
			defer socket.Close()
			to := &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Pid: uint32(pid)}
			for i := 0; !f.stop.Load(); i++ {
				err := unix.Sendto(socket.GetFd(), messages[i%len(messages)], unix.MSG_DONTWAIT, to)
				switch {
				case err == nil:
					f.sent.Add(1)
				case errors.Is(err, unix.ECONNREFUSED), errors.Is(err, unix.EAGAIN), errors.Is(err, unix.ENOBUFS):
					// Not there yet, or full.
					runtime.Gosched()
				default:
					Expect(err).NotTo(HaveOccurred())
				}
			}
		})
	}
	return f
}

func (f *forger) end() {
	f.stop.Store(true)
	f.done.Wait()
}

// lies are answers to the requests of a reader, in their order: the pod link
// with another mac and mtu, a host's address on it, another mac of net1.
func lies(index int) [][]byte {
	link := func(seq uint32, name string) []byte {
		m := nl.NewNetlinkRequest(unix.RTM_NEWLINK, 0)
		header := nl.NewIfInfomsg(unix.AF_UNSPEC)
		header.Index = int32(index)
		m.AddData(header)
		m.AddData(nl.NewRtAttr(unix.IFLA_IFNAME, nl.ZeroTerminated(name)))
		m.AddData(nl.NewRtAttr(unix.IFLA_ADDRESS, []byte{2, 0, 0, 0, 6, 66}))
		m.AddData(nl.NewRtAttr(unix.IFLA_MTU, nl.Uint32Attr(666)))
		m.Seq = seq
		return m.Serialize()
	}
	address := nl.NewNetlinkRequest(unix.RTM_NEWADDR, unix.NLM_F_MULTI)
	of := nl.NewIfAddrmsg(unix.AF_INET)
	of.Index, of.Prefixlen = uint32(index), 32
	address.AddData(of)
	address.AddData(nl.NewRtAttr(unix.IFA_LOCAL, net.ParseIP(hostIP).To4()))
	done := nl.NewNetlinkRequest(unix.NLMSG_DONE, unix.NLM_F_MULTI)
	done.AddData(nl.NewRtAttr(0, make([]byte, 4)))
	address.Seq, done.Seq = 2, 2
	return [][]byte{link(1, "eth0"), address.Serialize(), done.Serialize(), link(3, "net1"), link(4, "net1")}
}

var _ = Describe("an attacker who writes to the plugin's netlink socket", func() {
	// add runs an ADD under fire and gives how long it took.
	add := func(ns *podns.NS, keys, prev string, threads int, messages [][]byte) (answer, int64, time.Duration) {
		GinkgoHelper()
		var stdout, stderr bytes.Buffer
		cmd := program{argv: []string{binary}}.command(environment("ADD", ns.Path), conf("1.0.0", keys, prev))
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		began := time.Now()
		Expect(cmd.Start()).To(Succeed())
		f := forge(ns, cmd.Process.Pid, threads, messages)
		err := cmd.Wait()
		took := time.Since(began)
		f.end()
		Expect(err).NotTo(HaveOccurred(), stderr.String())
		return answer{stdout: stdout.String(), stderr: stderr.String()}, f.sent.Load(), took
	}

	It("is not believed", func() {
		ns := newPod("cni-forged", []fieldcase.Link{podLink, secondLink}, nil)
		prev := besieged(ns.Path)
		messages := lies(linkOf(ns, "eth0").Attrs().Index)
		heard := 0
		for round := 0; heard < 25; round++ {
			Expect(round).To(BeNumerically("<", 1_000), "the forger finds the socket")
			a, sent, _ := add(ns, "", prev, 2, messages)
			heard += int(min(sent, 1))
			ownEntryOnly(prev, a.stdout)
			if a.stdout == prev {
				Expect(records(a.stderr)).To(ContainElement(HaveField("Level", "WARN")))
				continue
			}
			entries := list(decoded(a.stdout), "interfaces")
			Expect(entries[podsEntry]).To(And(HaveKeyWithValue("mac", podLink.MAC), HaveKeyWithValue("mtu", float64(podLink.MTU))))
			Expect(entries[otherEntry]).To(HaveKeyWithValue("mac", secondLink.MAC))
		}
	})

	It("does not hold up an ADD beyond the deadline", func() {
		ns := newPod("cni-flood", []fieldcase.Link{podLink, secondLink}, nil)
		link := linkOf(ns, "eth0")
		for i := range 3_000 {
			addAddress(ns, link, fmt.Sprintf("10.0.%d.%d/32", i>>8, i&255))
		}
		prev := besieged(ns.Path)
		flood := append(nl.NewNetlinkRequest(unix.RTM_NEWLINK, 0).Serialize(), make([]byte, 16<<10)...)
		for range 3 {
			a, _, took := add(ns, "", prev, 4, [][]byte{flood})
			Expect(took).To(BeNumerically("<", 20*time.Second))
			ownEntryOnly(prev, a.stdout)
		}
	})
})
