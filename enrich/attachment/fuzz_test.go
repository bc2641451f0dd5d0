// SPDX-License-Identifier: Apache-2.0

package attachment

import (
	"context"
	"encoding/json"
	"testing"
)

// FuzzCache holds that no content of a cache file makes a driver fall over, or
// get another container's attachment, or a value that is none.
func FuzzCache(f *testing.F) {
	f.Add("a-net-c-1-eth0", []byte(file("c-1")), "c-1")
	f.Add("a-net-c-1-eth0", []byte(bare), "c-1")
	f.Add("a-net-"+allocation+"-eth0", []byte(bare), "")
	f.Add("x", []byte(`{"kind":"cniCacheV1","containerId":"c-1","config":"e30=","ifName":"eth0","networkName":"n","result":
		{"cniVersion":"0.4.0","interfaces":[null,{"name":"eth0","mac":"2","sandbox":"c-1"},{"name":"eth0","sandbox":"/n"}],
		"ips":[{"version":"4","address":"::ffff:10.0.0.1/120","interface":-1},null,{"version":"6","address":"2001:db8::1/64","interface":7}],
		"routes":[null,{"dst":"0.0.0.0/0","gw":"10.0.0.2"}]}}`), "c-1")
	f.Add("x", []byte(`{"kind":"cniCacheV1","containerId":"c-1","ifName":"eth0","networkName":"n","result":
		{"cniVersion":"0.2.0","ip4":{"ip":"10.0.0.1/24","gateway":"10.0.0.2","routes":[{"dst":"0.0.0.0/0"}]}}}`), "c-1")
	f.Add("x", []byte(`{"kind":"cniCacheV1","containerId":"c-1","ifName":"eth0","networkName":"n","result":null}`), "")
	f.Fuzz(func(t *testing.T, name string, content []byte, id string) {
		r, err := parseFile("/cache/"+name, content, id)
		if err != nil {
			return
		}
		if id != "" && r.containerID != id {
			t.Fatalf("asked for %q, got %q", id, r.containerID)
		}
		// No namespace of the fuzzer's choice is opened.
		r.netns = ""
		a, err := options{netns: "/nonexistent/netns"}.complete(context.Background(), r)
		if err != nil {
			return
		}
		if a.ContainerID == "" || a.Interface == "" || a.Network == "" || a.Incomplete == nil {
			t.Fatalf("incomplete without saying so: %+v", a)
		}
		for _, address := range a.Addresses {
			if !address.Prefix.IsValid() || address.Prefix.Addr().IsUnspecified() || address.Prefix.Addr().Is4In6() {
				t.Fatalf("no address: %v", address.Prefix)
			}
		}
		if _, err := json.Marshal(a); err != nil {
			t.Fatal(err)
		}
	})
}
