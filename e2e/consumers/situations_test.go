// SPDX-License-Identifier: Apache-2.0

package consumers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/result-enricher/result-enricher/internal/fieldcase"
)

const testdata = "../../enrich/testdata"

// fixturePod is the pod that the consumer fixtures are about: they name its namespace, its container and its links.
var fixturePod = fieldcase.Case{
	IfName:      "eth0",
	ContainerID: "vm-1",
	Sandbox: []fieldcase.Link{{
		Name: "eth0", Kind: "veth", MAC: "aa:bb:cc:00:00:01", MTU: 1450,
		Addresses: []netip.Prefix{netip.MustParsePrefix("10.1.1.5/32"), netip.MustParsePrefix("fd00::5/128")},
	}},
}

// Further links of that pod, in the fixtures that speak of them.
var (
	fixtureTap  = fieldcase.Link{Name: "tap0", Kind: "tap", MAC: "aa:bb:cc:00:00:99", MTU: 1500}
	fixtureNet1 = fieldcase.Link{
		Name: "net1", Kind: "veth", MAC: "aa:bb:cc:00:00:02", MTU: 1500,
		Addresses: []netip.Prefix{netip.MustParsePrefix("192.168.9.5/24")},
	}
)

const (
	fixtureNetns = "/var/run/netns/cni-1"
	fieldNetns   = "/var/run/netns/cni-field"
)

// situation is a Result, the pod it is about, and where that pod's namespace is.
type situation struct {
	fieldcase.Case
	netns string
}

// situations are all there are, the fixtures by their file's name and the cases from the field by their ID.
func situations() ([]situation, error) {
	cases, err := fieldcase.Load(filepath.Join(testdata, "field-cases"))
	if err != nil {
		return nil, err
	}
	var all []situation
	for _, c := range cases {
		all = append(all, situation{c.In(fieldNetns), fieldNetns})
	}
	files, err := filepath.Glob(fixturePath("*"))
	if err != nil {
		return nil, fmt.Errorf("list the fixtures: %w", err)
	}
	for _, file := range files {
		s, err := fixture(file)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// fixturePath is where the fixture of that name is.
func fixturePath(name string) string {
	return filepath.Join(testdata, "consumer-fixtures", name+".json")
}

func fixture(file string) (situation, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return situation{}, fmt.Errorf("read the fixture: %w", err)
	}
	c := fixturePod
	c.ID, c.PrevResult = strings.TrimSuffix(filepath.Base(file), ".json"), raw
	var head struct {
		CNIVersion string
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return situation{}, fmt.Errorf("decode %s: %w", file, err)
	}
	c.CNIVersion = head.CNIVersion
	for _, link := range []fieldcase.Link{fixtureTap, fixtureNet1} {
		if bytes.Contains(raw, []byte(`"`+link.Name+`"`)) {
			c.Sandbox = append(c.Sandbox[:len(c.Sandbox):len(c.Sandbox)], link)
		}
	}
	return situation{c, fixtureNetns}, nil
}

// mac is the hardware address that the kernel has for the pod's link, empty when there is no such link.
func (s situation) mac() string {
	for _, link := range s.Sandbox {
		if link.Name == s.IfName {
			return link.MAC
		}
	}
	return ""
}
