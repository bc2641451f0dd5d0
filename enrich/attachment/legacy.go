// SPDX-License-Identifier: Apache-2.0

package attachment

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// libcni before v0.8 cached the bare Result, so that only the file's name,
// <network>-<container>-<interface>, says whose it is, and each of the three may
// have dashes in it.

// The IDs of runtimes: a UUID (Nomad), 64 hexadecimal digits (containerd, CRI-O,
// Podman), cnitool's digest.
var (
	uuid    = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	knownID = regexp.MustCompile(`-(` + uuid.String() + `|[0-9a-f]{64}|cnitool-[0-9a-f]{20})-`)
)

var errOwner = errors.New("a Result without an owner, whose file name does not tell the container's ID")

// legacy reads a bare Result, whose version is the configuration's. Without an ID to look for, one of a known form must
// be in the name.
func legacy(path string, data []byte, containerID string) (record, error) {
	var result struct {
		CNIVersion string `json:"cniVersion"`
		Interfaces []struct {
			Name string `json:"name"`
		} `json:"interfaces"`
	}
	if err := json.Unmarshal(data, &result); err != nil {
		return record{}, err
	}
	name := filepath.Base(path)
	id := containerID
	if id == "" {
		match := knownID.FindStringSubmatch(name)
		if match == nil {
			return record{}, errOwner
		}
		id = match[1]
	}
	start := strings.Index(name, "-"+id+"-")
	if start < 0 || insideUUID(name, start+1, start+1+len(id)) {
		return record{}, errForeign
	}
	r := record{
		path: path, containerID: id, network: name[:start], ifName: name[start+len(id)+2:],
		cniVersion: result.CNIVersion, result: data,
	}
	if err := plausible(r.containerID, r.network, r.ifName); err != nil {
		return record{}, errForeign
	}
	// With a dash in it, the end may begin with a part of the ID.
	named := slices.ContainsFunc(result.Interfaces, func(i struct {
		Name string `json:"name"`
	},
	) bool {
		return i.Name == r.ifName
	})
	if strings.Contains(r.ifName, "-") && !named {
		return record{}, errForeign
	}
	return r, nil
}

// insideUUID reports whether name[start:end] is a part of a longer ID.
func insideUUID(name string, start, end int) bool {
	for _, span := range uuid.FindAllStringIndex(name, -1) {
		if span[0] <= start && end <= span[1] && end-start < span[1]-span[0] {
			return true
		}
	}
	return false
}
