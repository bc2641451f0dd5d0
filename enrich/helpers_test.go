// SPDX-License-Identifier: Apache-2.0

package enrich_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"

	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/enrich"
)

// The sandbox of most specs.
const (
	netns       = "/var/run/netns/cni-5f71"
	containerID = "c-1"
	podMAC      = "3a:dd:bc:ad:13:95"
	podMTU      = 1450
)

// run is one pass of the rules over JSON, as the plugin makes it.
type run struct {
	enrich.Outcome
	// document is what the plugin would print.
	document []byte
}

// rules runs prevResult through the core, and prints as the plugin does: the
// bytes that came when nothing was repaired.
func rules(prevResult string, call enrich.Call, obs enrich.Observation, opts enrich.Options) (run, error) {
	prev, err := enrich.Parse([]byte(prevResult), call.CNIVersion)
	if err != nil {
		return run{}, err
	}
	r := run{Outcome: enrich.Apply(prev, call, obs, opts), document: []byte(prevResult)}
	if len(r.Repairs) > 0 || prev.Version != call.CNIVersion {
		r.document, err = enrich.Encode(r.Result, call.CNIVersion)
	}
	return r, err
}

// repaired is rules for inputs that decode.
func repaired(prevResult string, call enrich.Call, obs enrich.Observation, opts ...enrich.Options) run {
	r, err := rules(prevResult, call, obs, append(opts, enrich.Options{})[0])
	ExpectWithOffset(1, err).NotTo(HaveOccurred())
	return r
}

func callOf(version string) enrich.Call {
	return enrich.Call{CNIVersion: version, Netns: netns, IfName: "eth0", ContainerID: containerID}
}

// pod is a completely seen pod link with the addresses.
func pod(addresses ...string) enrich.Observation {
	link := &enrich.Link{MAC: podMAC, MTU: podMTU, AddressesComplete: true}
	for _, a := range addresses {
		link.Addresses = append(link.Addresses, netip.MustParseAddr(a))
	}
	return enrich.Observation{Link: link}
}

// brief lists repairs as "R7 ips[0].interface 5>1".
func brief(repairs []enrich.Repair) []string {
	list := []string{}
	for _, r := range repairs {
		list = append(list, fmt.Sprintf("%s %s %s>%s", r.Rule, r.Path, asJSON(r.Old), asJSON(r.New)))
	}
	return list
}

func asJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(bytes.ReplaceAll(raw, []byte(`"`), nil))
}
