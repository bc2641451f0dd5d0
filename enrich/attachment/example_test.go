// SPDX-License-Identifier: Apache-2.0

package attachment_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"

	"github.com/result-enricher/result-enricher/enrich/attachment"
)

// A task driver of Nomad knows the allocation's ID, which is the container's ID
// for CNI, and nothing else. (cacheDir is only here for the example's own node;
// a driver leaves the option out.)
func ExampleOne() {
	cacheDir, done := exampleNode()
	defer done()
	allocationID := "f0b4ab5c-2f1c-4f1a-8c0e-4a4a6d0c3b1d"

	found, err := attachment.One(context.Background(), allocationID, attachment.WithCacheDirs(cacheDir))
	if err != nil {
		fmt.Println(err)
		return
	}
	address, _ := found.IPv4()
	fmt.Println("interface", found.Interface, found.MAC, "mtu", found.MTU)
	fmt.Println("address", address.Prefix, "gateway", address.Gateway)
	fmt.Println("host device", found.HostDevice, "DNS", found.DNS.Nameservers)
	// Output:
	// interface eth0 3a:dd:bc:ad:13:95 mtu 1450
	// address 10.135.153.140/32 gateway 169.254.1.1
	// host device calie38e7158114 DNS [10.96.0.10]
}

// A static network configuration with the fields of Firecracker's Go SDK, into
// whose StaticNetworkConfiguration it decodes, without importing the SDK.
//
// A guest cannot use a gateway that is on no subnet of its address, as in the
// example above; enrichctl show -o firecracker translates that.
func ExampleAttachment_firecracker() {
	cacheDir, done := exampleVM()
	defer done()
	found, err := attachment.One(context.Background(), "vm-1", attachment.WithCacheDirs(cacheDir))
	if err != nil || found.Tap == nil {
		fmt.Println("no tap for the machine:", err)
		return
	}
	address, _ := found.IPv4()
	static := map[string]any{
		"HostDevName": found.Tap.Name,
		"MacAddress":  found.Tap.GuestMAC,
		"IPConfiguration": map[string]any{
			"IPAddr": net.IPNet{
				IP:   address.Prefix.Addr().AsSlice(),
				Mask: net.CIDRMask(address.Prefix.Bits(), 32),
			},
			"Gateway":     address.Gateway,
			"Nameservers": found.DNS.Nameservers,
		},
	}
	document, err := json.MarshalIndent(static, "", "  ")
	fmt.Println(string(document), err)
	// Output:
	// {
	//   "HostDevName": "tap0",
	//   "IPConfiguration": {
	//     "Gateway": "192.0.2.1",
	//     "IPAddr": {
	//       "IP": "192.0.2.10",
	//       "Mask": "////AA=="
	//     },
	//     "Nameservers": [
	//       "192.0.2.53"
	//     ]
	//   },
	//   "MacAddress": "00:00:5e:00:53:01"
	// } <nil>
}
