// SPDX-License-Identifier: Apache-2.0

package enrich_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	types100 "github.com/containernetworking/cni/pkg/types/100"

	"github.com/result-enricher/result-enricher/enrich"
)

// holdsR0 runs prevResult through the rules and reports the first promise of R0
// that is broken. A prevResult that does not decode is handed on by the plugin,
// and there is nothing to say about it here.
func holdsR0(prevResult string, call enrich.Call, obs enrich.Observation, opts enrich.Options) error {
	prev, err := enrich.Parse([]byte(prevResult), call.CNIVersion)
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	first, err := rules(prevResult, call, obs, opts)
	if err != nil {
		return fmt.Errorf("a Result that decodes does not encode: %w", err)
	}
	if err := kept(prev.Result, first.Result, call, obs, opts); err != nil {
		return err
	}
	if first.LeftAlone != nil && !reflect.DeepEqual(first.Result.Interfaces, prev.Result.Interfaces) {
		return fmt.Errorf("left alone, yet the interfaces changed")
	}
	printed, err := enrich.Parse(first.document, call.CNIVersion)
	if err != nil {
		return fmt.Errorf("the document does not decode: %w", err)
	}
	if printed.Version != call.CNIVersion {
		return fmt.Errorf("the document has version %q", printed.Version)
	}
	if err := kept(prev.Result, printed.Result, call, obs, opts); err != nil {
		return fmt.Errorf("in the document: %w", err)
	}
	second, err := rules(string(first.document), call, obs, opts)
	if err != nil {
		return fmt.Errorf("second run: %w", err)
	}
	if len(second.Repairs) > 0 || string(second.document) != string(first.document) {
		return fmt.Errorf("twice is not once: %v", brief(second.Repairs))
	}
	return nil
}

// kept compares what the rules may not touch.
func kept(before, after *types100.Result, call enrich.Call, obs enrich.Observation, opts enrich.Options) error {
	if n, m := len(before.Interfaces), len(after.Interfaces); m < n || m > n+1 {
		return fmt.Errorf("%d interfaces became %d", n, m)
	}
	for i, entry := range before.Interfaces {
		if err := keptEntry(entry, after.Interfaces[i], call, obs); err != nil {
			return fmt.Errorf("interfaces[%d]: %w", i, err)
		}
	}
	if !equalJSON(before.Routes, after.Routes) && len(before.Routes)+len(after.Routes) > 0 {
		return fmt.Errorf("routes changed")
	}
	if !equalJSON(before.DNS, after.DNS) {
		return fmt.Errorf("dns changed")
	}
	if len(before.IPs) != len(after.IPs) {
		return fmt.Errorf("%d ips became %d", len(before.IPs), len(after.IPs))
	}
	for i, ip := range after.IPs {
		was := before.IPs[i]
		if ip.Address.String() != was.Address.String() {
			return fmt.Errorf("ips[%d] changed its address", i)
		}
		if !ip.Gateway.Equal(was.Gateway) && (len(was.Gateway) > 0 || !opts.Gateways) {
			return fmt.Errorf("ips[%d] changed its gateway", i)
		}
		if ip.Interface != nil && (*ip.Interface < 0 || *ip.Interface >= len(after.Interfaces)) {
			return fmt.Errorf("ips[%d] has index %d of %d", i, *ip.Interface, len(after.Interfaces))
		}
		if err := keptIndex(was.Interface, ip.Interface, before); err != nil {
			return fmt.Errorf("ips[%d]: %w", i, err)
		}
	}
	return nil
}

// keptEntry allows what R4 and R5 do, to entries that are theirs.
func keptEntry(was, is *types100.Interface, call enrich.Call, obs enrich.Observation) error {
	allowed := *was
	own := was.Sandbox == call.Netns || slices.Contains(obs.OwnSandboxes, was.Sandbox)
	named := was.Name == call.IfName && obs.Link != nil
	if own && was.Mac == "" {
		allowed.Mac = is.Mac
	}
	if named && is.Sandbox == call.Netns && (own || was.Sandbox == "" || was.Sandbox == call.ContainerID) {
		allowed.Mac, allowed.Mtu, allowed.Sandbox = is.Mac, is.Mtu, is.Sandbox
	}
	if call.CNIVersion < "1.0.0" {
		allowed.Mtu, allowed.SocketPath, allowed.PciID = is.Mtu, is.SocketPath, is.PciID
	}
	if *is != allowed {
		return fmt.Errorf("%v became %v", *was, *is)
	}
	return nil
}

// keptIndex allows an index to change only if it was missing, impossible or at
// a host entry.
func keptIndex(was, is *int, before *types100.Result) error {
	if was == nil || *was < 0 || *was >= len(before.Interfaces) || before.Interfaces[*was].Sandbox == "" {
		return nil
	}
	if is == nil || *is != *was {
		return fmt.Errorf("index %d at a sandboxed entry changed", *was)
	}
	return nil
}

func equalJSON(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && (string(x) == string(y))
}
