// SPDX-License-Identifier: Apache-2.0

package enrich

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"unicode/utf8"

	types040 "github.com/containernetworking/cni/pkg/types/040"
	types100 "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/version"
)

// Prev is a decoded prevResult without null entries.
type Prev struct {
	// Version is the Result's own cniVersion, empty when it says none.
	Version string
	// Result has the library's newest type, whatever Version is.
	Result *types100.Result

	nulls []Repair
	// lost has the positions of ips whose index led to a removed entry, with
	// that index, which no longer means anything.
	lost map[int]int
}

// Parse decodes the JSON of a prevResult of any version that the library knows
// and removes its null entries (R1). cniVersion is the configuration's: it
// stands in for a version that prevResult does not say, since the library would
// take such a Result for 0.1.0 and return an empty one.
//
// Nulls are removed before any of the library's converters runs: those of
// 0.3.0 to 0.4.0 panic on them.
func Parse(raw []byte, cniVersion string) (*Prev, error) {
	if !utf8.Valid(raw) {
		// Decoding would replace the bytes, and R0 forbids to change them.
		return nil, errors.New("decode prevResult: not valid UTF-8")
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(raw, &keys); err != nil {
		return nil, fmt.Errorf("decode prevResult: %w", err)
	}
	prev := &Prev{}
	if said, ok := keys["cniVersion"]; ok {
		if err := json.Unmarshal(said, &prev.Version); err != nil {
			return nil, fmt.Errorf("decode cniVersion of prevResult: %w", err)
		}
	}
	if prev.Version != "" {
		cniVersion = prev.Version
	} else {
		versioned, err := withVersion(keys, cniVersion)
		if err != nil {
			return nil, err
		}
		raw = versioned
	}
	decoded, err := version.NewResult(cniVersion, raw)
	if err != nil {
		return nil, fmt.Errorf("decode prevResult: %w", err)
	}
	switch r := decoded.(type) {
	case *types040.Result:
		var moved []int
		r.Interfaces, moved = dropNulls(prev, "interfaces", r.Interfaces)
		r.IPs, _ = dropNulls(prev, "ips", r.IPs)
		r.Routes, _ = dropNulls(prev, "routes", r.Routes)
		for i, ip := range r.IPs {
			prev.follow(i, ip.Interface, moved)
		}
	case *types100.Result:
		var moved []int
		r.Interfaces, moved = dropNulls(prev, "interfaces", r.Interfaces)
		r.IPs, _ = dropNulls(prev, "ips", r.IPs)
		r.Routes, _ = dropNulls(prev, "routes", r.Routes)
		for i, ip := range r.IPs {
			prev.follow(i, ip.Interface, moved)
		}
	}
	prev.Result, err = types100.NewResultFromResult(decoded)
	if err != nil {
		return nil, fmt.Errorf("convert prevResult from version %s: %w", cniVersion, err)
	}
	return prev, representable(prev.Result)
}

// withVersion gives the JSON of keys with a cniVersion.
func withVersion(keys map[string]json.RawMessage, cniVersion string) ([]byte, error) {
	if keys == nil {
		return nil, errors.New("decode prevResult: null is no Result")
	}
	quoted, err := json.Marshal(cniVersion)
	if err != nil {
		return nil, fmt.Errorf("encode cniVersion: %w", err)
	}
	versioned := maps.Clone(keys)
	versioned["cniVersion"] = quoted
	raw, err := json.Marshal(versioned)
	if err != nil {
		return nil, fmt.Errorf("encode prevResult with its version: %w", err)
	}
	return raw, nil
}

// dropNulls is R1 for one list. moved has the new position of every entry, -1
// for a removed one.
func dropNulls[T any](prev *Prev, list string, entries []*T) (kept []*T, moved []int) {
	moved = make([]int, len(entries))
	for i, entry := range entries {
		if entry == nil {
			moved[i] = -1
			prev.nulls = append(prev.nulls, Repair{
				Rule: "R1", Path: path(list, i),
				Reason: "null entry removed: consumers panic on it",
			})
			continue
		}
		moved[i] = len(kept)
		kept = append(kept, entry)
	}
	return kept, moved
}

// follow maps the index of the address at position i of ips past the removed
// interfaces. One that was out of range before stays so, and one that led to a
// removed entry becomes so.
func (p *Prev) follow(i int, index *int, moved []int) {
	if index == nil || *index < 0 || *index >= len(moved) {
		return
	}
	if moved[*index] < 0 {
		if p.lost == nil {
			p.lost = map[int]int{}
		}
		p.lost[i] = *index
	}
	*index = moved[*index]
}

// representable refuses what the library decodes but would not encode as it
// was: it writes a missing address or destination as the text "<nil>", and an
// IPv4 address in IPv6 form loses a prefix that is shorter than 96.
func representable(result *types100.Result) error {
	for i, ip := range result.IPs {
		if !encodable(ip.Address) {
			return fmt.Errorf("decode prevResult: ips[%d] has no usable address", i)
		}
	}
	for i, route := range result.Routes {
		if !encodable(route.Dst) {
			return fmt.Errorf("decode prevResult: routes[%d] has no usable dst", i)
		}
	}
	return nil
}

func encodable(n net.IPNet) bool {
	ones, bits := n.Mask.Size()
	if n.IP == nil || bits == 0 {
		return false
	}
	return n.IP.To4() == nil || bits == 32 || ones >= 96
}
