// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	types100 "github.com/containernetworking/cni/pkg/types/100"
	"github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/utils"
	"github.com/vishvananda/netlink"

	"github.com/result-enricher/result-enricher/internal/podns"
)

// attachment is what one run of a chain left to see.
type attachment struct {
	raw    []byte
	result *types100.Result
	status []byte
	kernel pod
}

// pod is the pod's interface as the kernel has it.
type pod struct {
	mac       string
	mtu       int
	addresses []string
}

// tell runs both chains and prints what there is to see. It fails when something is not as it must be.
func tell(ctx context.Context, dir string, s *screen) error {
	ns, err := podns.New(netnsPath)
	if err != nil {
		return err
	}
	defer ns.Close() // the mount namespace ends with this process

	s.title("result-enricher: a pod's CNI Result, without it and with it")
	s.text("The same chain runs twice, through libcni and in network namespaces of its own: " +
		"first an upstream plugin that does and answers what Calico up to v3.30 does, " +
		"then the same with result-enricher appended to the conflist.")

	before, err := newChain(dir)
	if err != nil {
		return err
	}
	without, err := before.attach(ctx, ns)
	if err != nil {
		return err
	}
	if err := before.del(ctx); err != nil {
		return err
	}
	after, err := newChain(dir, enricherType)
	if err != nil {
		return err
	}
	with, err := after.attach(ctx, ns)
	if err != nil {
		return err
	}
	repairs, err := after.repairs()
	if err != nil {
		return err
	}

	s.heading("1. What the upstream plugin answers to ADD")
	s.document(without.raw)
	s.text("It names the host's end of the veth pair only. In the pod the kernel has:")
	s.line("    %s  %s  mtu %d", ifName, without.kernel.mac, without.kernel.mtu)
	for _, a := range without.kernel.addresses {
		s.line("          %s", a)
	}

	s.heading(`2. What it answers for the next pod, with {"type": "result-enricher"} appended`)
	s.difference(without.raw, with.raw)

	s.heading("3. The repairs, from the plugin's log")
	for _, r := range repairs {
		s.repair(r)
	}

	s.heading("4. The k8s.v1.cni.cncf.io/network-status that multus writes from each")
	s.difference(without.status, with.status)

	del := after.del(ctx)
	return verdict(s, append(facts(without, with), removal(ns, dir, del)...))
}

func (c *chain) attach(ctx context.Context, ns *podns.NS) (*attachment, error) {
	raw, result, err := c.add(ctx)
	if err != nil {
		return nil, err
	}
	kernel, err := look(ns)
	if err != nil {
		return nil, err
	}
	// This is the call that multus makes for the cluster's default network.
	statuses, err := utils.CreateNetworkStatuses(result, networkName, true, nil)
	if err != nil {
		return nil, fmt.Errorf("compute the network-status: %w", err)
	}
	status, err := json.Marshal(statuses)
	if err != nil {
		return nil, fmt.Errorf("encode the network-status: %w", err)
	}
	return &attachment{raw: raw, result: result, status: status, kernel: kernel}, nil
}

func look(ns *podns.NS) (pod, error) {
	link, err := ns.Netlink.LinkByName(ifName)
	if err != nil {
		return pod{}, fmt.Errorf("find %s in the pod: %w", ifName, err)
	}
	seen := pod{mac: link.Attrs().HardwareAddr.String(), mtu: link.Attrs().MTU}
	addresses, err := ns.Netlink.AddrList(link, netlink.FAMILY_ALL)
	if err != nil {
		return pod{}, fmt.Errorf("list the addresses of %s: %w", ifName, err)
	}
	for _, a := range addresses {
		if a.Scope == int(netlink.SCOPE_UNIVERSE) {
			seen.addresses = append(seen.addresses, a.IPNet.String())
		}
	}
	return seen, nil
}

// removal is what must hold after DEL, which gave del.
func removal(ns *podns.NS, dir string, del error) []fact {
	left, podErr := ns.HasLink(ifName)
	host, hostErr := podns.HostLinks()
	// A kernel may put tunnels of its own into every new namespace; the chain's links all have this prefix.
	host = slices.DeleteFunc(host, func(name string) bool { return !strings.HasPrefix(name, "cali") })
	cached, cacheErr := filepath.Glob(filepath.Join(dir, "cache", "results", "*"))
	return []fact{
		{"DEL succeeds", del},
		{"no interface is left in the pod", errors.Join(podErr, unless(!left, "%s is there", ifName))},
		{"no interface is left on the host", errors.Join(hostErr, unless(len(host) == 0, "%v are there", host))},
		{"no cached Result is left", errors.Join(cacheErr, unless(len(cached) == 0, "%v are there", cached))},
	}
}
