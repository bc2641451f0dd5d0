// SPDX-License-Identifier: Apache-2.0

// Package fieldcase reads the cases from the field under enrich/testdata, for
// the tests that run them: once through the pure rules, once through the
// plugin's binary in a real namespace. It reads files and nothing else.
//
// The convention it relies on: $NETNS in a case stands for the CNI_NETNS of the
// call.
package fieldcase

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/result-enricher/result-enricher/enrich"
)

// Case is one situation that somebody reported, with the Result that must come
// out.
type Case struct {
	ID          string
	Source      string
	Note        string
	CNIVersion  string
	IfName      string
	ContainerID string
	// Sandbox are the links of the pod's namespace besides lo, Host those of the
	// host that matter.
	Sandbox []Link
	Host    []Link
	// Config are the keys of the plugin's entry.
	Config     map[string]any
	PrevResult json.RawMessage
	Want       json.RawMessage
}

// Link is a link of a namespace.
type Link struct {
	Name string
	// Kind is veth or tap.
	Kind string
	MAC  string
	MTU  int
	// Addresses have prefix lengths.
	Addresses []netip.Prefix
	// Peer is the name of a host link's other end in the sandbox.
	Peer string
}

// Load reads every case of a directory.
func Load(dir string) ([]Case, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("list cases: %w", err)
	}
	var cases []Case
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read case: %w", err)
		}
		var c Case
		if err := json.Unmarshal(raw, &c); err != nil {
			return nil, fmt.Errorf("decode %s: %w", file, err)
		}
		cases = append(cases, c)
	}
	return cases, nil
}

// In gives the case with netns in the place of $NETNS.
func (c Case) In(netns string) Case {
	c.PrevResult = bytes.ReplaceAll(c.PrevResult, []byte("$NETNS"), []byte(netns))
	c.Want = bytes.ReplaceAll(c.Want, []byte("$NETNS"), []byte(netns))
	return c
}

// Call is the call of the case in netns.
func (c Case) Call(netns string) enrich.Call {
	return enrich.Call{CNIVersion: c.CNIVersion, Netns: netns, IfName: c.IfName, ContainerID: c.ContainerID}
}

// Observation is what a complete look into the sandbox of the case shows.
func (c Case) Observation() enrich.Observation {
	obs := enrich.Observation{MACs: map[string]string{}}
	for _, link := range c.Sandbox {
		obs.MACs[link.Name] = link.MAC
		if link.Name != c.IfName {
			continue
		}
		obs.Link = &enrich.Link{MAC: link.MAC, MTU: link.MTU, AddressesComplete: true}
		for _, prefix := range link.Addresses {
			obs.Link.Addresses = append(obs.Link.Addresses, prefix.Addr())
		}
	}
	return obs
}

// Stdin is the configuration that a runtime would hand to the plugin.
func (c Case) Stdin() ([]byte, error) {
	config := map[string]any{"cniVersion": c.CNIVersion, "name": "field", "type": "result-enricher", "prevResult": c.PrevResult}
	for key, value := range c.Config {
		config[key] = value
	}
	stdin, err := json.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("encode the configuration of %s: %w", c.ID, err)
	}
	return stdin, nil
}
