// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"net"
	"strings"

	"github.com/containernetworking/cni/pkg/types"
)

// defaultMTU is what Calico picks for VXLAN on a 1500 byte network, in bytes.
const defaultMTU = 1450

// netConf is the plugin's entry in the conflist.
type netConf struct {
	types.NetConf

	// Addresses of the pod, with prefix length; Calico's are /32 and /128. Empty: the namespace is left as it is.
	Addresses []string `json:"addresses"`
	// MTU of both ends of the veth, in bytes. 0 is defaultMTU.
	MTU int `json:"mtu"`
	// Result answers ADD in place of Calico's Result, byte for byte, but that $NETNS in it becomes CNI_NETNS. It lets a
	// test put any Result in front of a real chain.
	Result json.RawMessage `json:"result"`
}

// address is one address of the pod as configured.
type address struct {
	*net.IPNet
}

func (a address) isIPv4() bool { return a.IP.To4() != nil }

// parse reads the configuration from stdin's bytes.
func parse(stdin []byte) (*netConf, []address, error) {
	conf := &netConf{MTU: defaultMTU}
	if err := json.Unmarshal(stdin, conf); err != nil {
		return nil, nil, fmt.Errorf("parse the network configuration: %w", err)
	}
	if len(conf.Addresses) == 0 && len(conf.Result) == 0 {
		return nil, nil, fmt.Errorf(`parse the network configuration: give "addresses" or "result", or both`)
	}
	addresses := make([]address, 0, len(conf.Addresses))
	for _, text := range conf.Addresses {
		ip, network, err := net.ParseCIDR(text)
		if err != nil {
			return nil, nil, fmt.Errorf("parse the key addresses: %w", err)
		}
		addresses = append(addresses, address{&net.IPNet{IP: ip, Mask: network.Mask}})
	}
	return conf, addresses, nil
}

// answer is the configured Result for a pod in namespace netns.
func (c *netConf) answer(netns string) string {
	return strings.ReplaceAll(string(c.Result), "$NETNS", netns)
}
