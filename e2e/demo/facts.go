// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	types100 "github.com/containernetworking/cni/pkg/types/100"
	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
)

// fact is something that must be true, and why it is not.
type fact struct {
	claim string
	err   error
}

// unless is nil when what must hold does.
func unless(holds bool, format string, args ...any) error {
	if holds {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// facts compares both attachments with each other and with the kernel.
func facts(without, with *attachment) []fact {
	var entry types100.Interface
	if n := len(with.result.Interfaces); n > 0 {
		entry = *with.result.Interfaces[n-1]
	}
	mac := with.kernel.mac
	return []fact{
		{"without the plugin the Result names no interface in the pod", noSandbox(without.result)},
		{
			fmt.Sprintf("with it the Result's MAC of %s is the kernel's, %s", ifName, mac),
			unless(entry.Name == ifName && entry.Mac == mac, "the Result has %s %s", entry.Name, entry.Mac),
		},
		{
			"its sandbox is CNI_NETNS",
			unless(entry.Sandbox == netnsPath, "the Result has %q", entry.Sandbox),
		},
		{"every address has the index of that entry, and nothing else changed", sameButIndices(without.result, with.result)},
		{"network-status gains interface and mac, and nothing else changed", sameButNames(without.status, with.status, mac)},
	}
}

func noSandbox(result *types100.Result) error {
	for _, entry := range result.Interfaces {
		if entry.Sandbox != "" {
			return fmt.Errorf("%s has the sandbox %s", entry.Name, entry.Sandbox)
		}
	}
	return nil
}

// sameButIndices takes from the second Result what the repair adds and compares the rest.
func sameButIndices(without, with *types100.Result) error {
	last := len(with.Interfaces) - 1
	if last != len(without.Interfaces) {
		return fmt.Errorf("there are %d entries where %d are wanted", last+1, len(without.Interfaces)+1)
	}
	rest := *with
	rest.Interfaces = with.Interfaces[:last]
	rest.IPs = nil
	for i, ip := range with.IPs {
		if ip.Interface == nil || *ip.Interface != last {
			return fmt.Errorf("ips[%d] has not the index %d", i, last)
		}
		rest.IPs = append(rest.IPs, &types100.IPConfig{Address: ip.Address, Gateway: ip.Gateway})
	}
	return unless(reflect.DeepEqual(&rest, without), "the rest of the Result changed")
}

// sameButNames does the same with the network-status, of which there must be one entry, the default.
func sameButNames(without, with []byte, mac string) error {
	var before, after []nadv1.NetworkStatus
	if err := errors.Join(json.Unmarshal(without, &before), json.Unmarshal(with, &after)); err != nil {
		return fmt.Errorf("read the network-status: %w", err)
	}
	if len(before) != 1 || len(after) != 1 {
		return fmt.Errorf("there are %d and %d entries where one is wanted", len(before), len(after))
	}
	if before[0].Interface != "" || before[0].Mac != "" {
		return fmt.Errorf("without the plugin it has interface %q and mac %q already", before[0].Interface, before[0].Mac)
	}
	before[0].Interface, before[0].Mac = ifName, mac
	return unless(reflect.DeepEqual(before, after) && after[0].Default, "the rest of the network-status changed")
}

// verdict prints every fact and fails when one is false.
func verdict(s *screen, all []fact) error {
	s.heading("5. Is it so?")
	wrong := 0
	for _, f := range all {
		s.fact(f)
		if f.err != nil {
			wrong++
		}
	}
	return unless(wrong == 0, "%d of %d facts are not as they must be", wrong, len(all))
}
