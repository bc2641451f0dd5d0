// SPDX-License-Identifier: Apache-2.0

package enrich

import (
	"encoding/json"
	"fmt"

	types100 "github.com/containernetworking/cni/pkg/types/100"
)

// Encode gives the Result as JSON in the given CNI version. Below 1.0.0 an mtu
// has no place in it (R9).
func Encode(result *types100.Result, cniVersion string) ([]byte, error) {
	newest := *result
	newest.CNIVersion = types100.ImplementedSpecVersion
	converted, err := newest.GetAsVersion(cniVersion)
	if err != nil {
		return nil, fmt.Errorf("convert Result to version %s: %w", cniVersion, err)
	}
	var out []byte
	if newest, ok := converted.(*types100.Result); ok {
		out, err = encodeNewest(newest)
	} else {
		out, err = json.Marshal(converted)
	}
	if err != nil {
		return nil, fmt.Errorf("encode Result: %w", err)
	}
	return out, nil
}

// encodeNewest encodes as the library does, without its way through a map, which
// serves only to leave out an empty dns.
func encodeNewest(result *types100.Result) ([]byte, error) {
	members := []member{{"cniVersion", result.CNIVersion}}
	if len(result.Interfaces) > 0 {
		members = append(members, member{"interfaces", result.Interfaces})
	}
	if len(result.IPs) > 0 {
		members = append(members, member{"ips", result.IPs})
	}
	if len(result.Routes) > 0 {
		members = append(members, member{"routes", result.Routes})
	}
	if !result.DNS.IsEmpty() {
		members = append(members, member{"dns", result.DNS})
	}
	return object(members...)
}

// MarshalJSON gives what the tags of the fields say.
func (r Repair) MarshalJSON() ([]byte, error) {
	return object(member{"rule", r.Rule}, member{"path", r.Path}, member{"old", r.Old}, member{"new", r.New}, member{"reason", r.Reason})
}

// member is one of a JSON object. The key is encoded as it is.
type member struct {
	key   string
	value any
}

// object encodes a JSON object. encoding/json would do it from a struct, but
// analyses every type that it has not met, and a process that encodes one Result
// has met none: that of Result and of Repair take longer than all of their bytes.
func object(members ...member) ([]byte, error) {
	values, size := make([][]byte, len(members)), len("{}")
	for i, m := range members {
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", m.key, err)
		}
		values[i] = value
		size += len(m.key) + len(value) + len(`"":,`)
	}
	out := append(make([]byte, 0, size), '{')
	for i, m := range members {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, '"'), m.key...), `":`...)
		out = append(out, values[i]...)
	}
	return append(out, '}'), nil
}
