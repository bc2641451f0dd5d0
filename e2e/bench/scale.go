// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/result-enricher/result-enricher/internal/podns"
)

// newPod makes a namespace in which eth0 has addresses, the first of them that of
// the Results, beside other links. The links are the ends of veth pairs, as many
// as asked for, eth0 included.
func newPod(name string, links, addresses int) (*podns.NS, error) {
	pod, err := podns.New("/run/netns/" + name)
	if err != nil {
		return nil, err
	}
	if err := populate(pod, links, addresses); err != nil {
		return nil, errors.Join(err, pod.Close())
	}
	return pod, nil
}

func populate(pod *podns.NS, links, addresses int) error {
	eth0 := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "eth0"}, PeerName: "peer0"}
	if err := pod.Netlink.LinkAdd(eth0); err != nil {
		return fmt.Errorf("make eth0: %w", err)
	}
	for made := 2; made < links; made += 2 {
		veth := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: fmt.Sprintf("v%da", made)}, PeerName: fmt.Sprintf("v%db", made)}
		if err := pod.Netlink.LinkAdd(veth); err != nil {
			return fmt.Errorf("make a link: %w", err)
		}
	}
	for i := range addresses {
		ip := net.IPv4(192, 0, 2, 10)
		if i > 0 {
			ip = net.IPv4(10, byte(i>>16), byte(i>>8), byte(i))
		}
		addr := &netlink.Addr{IPNet: &net.IPNet{IP: ip, Mask: net.CIDRMask(32, 32)}}
		if err := pod.Netlink.AddrAdd(eth0, addr); err != nil {
			return fmt.Errorf("add an address: %w", err)
		}
	}
	return nil
}

// scale is the table of what an ADD costs as the node and the pod grow. The rows
// of a group run in turn.
func scale(w io.Writer, dir string, rounds int) (err error) {
	type row struct {
		what             string
		links, addresses int
	}
	rows := []row{
		{"2 links in the sandbox", 2, 1},
		{"50 links in the sandbox", 50, 1},
		{"500 links in the sandbox", 500, 1},
		{"100 addresses on the pod link", 2, 100},
		{"10000 addresses on the pod link", 2, 10_000},
	}
	var programs []program
	for i, r := range rows {
		pod, err := newPod(fmt.Sprintf("bench-scale-%d", i), r.links, r.addresses)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, pod.Close()) }()
		p := call(dir, "result-enricher", "ADD", pod.Path, broken)
		p.name = r.what
		programs = append(programs, p)
	}
	few, err := inTurn(programs, rounds/4+1)
	if err != nil {
		return err
	}
	memory, err := peaks(programs)
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "ADD as the pod grows, in turn, medians of %d\n\n", rounds/4+1)
	fmt.Fprintln(t, "cpu ms\tof the first\tpeak MiB\t ")
	for i, p := range programs {
		c := summarize(few[i])
		fmt.Fprintf(t, "%s\t%s\t%.1f\t  %s\n", ms(c.cpu), ratio(c.cpu, summarize(few[0]).cpu), memory[i], p.name)
	}
	t.Flush()
	return hostLinks(w, emptyProgram(dir), programs[0], rounds/4+1)
}

// hostLinks is the same ADD with more and more links on the host. The rows cannot
// run in turn; each has the empty program for that.
func hostLinks(w io.Writer, empty, p program, rounds int) error {
	fmt.Fprintf(w, "\nADD as the node grows, in turn with the empty Go program, medians of %d\n\n", rounds)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "cpu ms\tof empty\t ")
	made := 0
	for _, want := range []int{2, 200, 4000} {
		for ; made < want; made += 2 {
			veth := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: fmt.Sprintf("h%da", made)}, PeerName: fmt.Sprintf("h%db", made)}
			if err := netlink.LinkAdd(veth); err != nil {
				return fmt.Errorf("make a link on the host: %w", err)
			}
		}
		costs, err := inTurn([]program{empty, p}, rounds)
		if err != nil {
			return err
		}
		c := summarize(costs[1]).cpu
		fmt.Fprintf(t, "%s\t%s\t  %d links on the host\n", ms(c), ratio(c, summarize(costs[0]).cpu), want)
	}
	t.Flush()
	fmt.Fprintln(w)
	return nil
}

// rush starts 500 ADDs at once.
func rush(w io.Writer, dir string, _ int) (err error) {
	const crowd = 500
	pod, err := newPod("bench-rush", 2, 1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pod.Close()) }()
	p := call(dir, "result-enricher", "ADD", pod.Path, broken)
	costs, faults := make([]cost, crowd), make([]error, crowd)
	var wait sync.WaitGroup
	start := time.Now()
	for i := range crowd {
		wait.Go(func() { costs[i], faults[i] = p.run() })
	}
	wait.Wait()
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("start %d ADDs at once: %w", crowd, err)
	}
	slowest := slices.MaxFunc(costs, func(a, b cost) int { return int(a.wall - b.wall) })
	fmt.Fprintf(w, "%d ADDs at once: none failed, all done after %s ms, the slowest took %s ms\n\n", crowd, ms(time.Since(start)), ms(slowest.wall))
	return nil
}
