// SPDX-License-Identifier: Apache-2.0

package predictions

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/result-enricher/result-enricher/enrich/consumer"
)

// FuzzPredictions gives the consumers' code and our predictions the same Results: one that is JSON of the fuzzer's, and
// one that is built from its bytes, so that most of these are worth reading.
//
// vmconf opens the namespace of the tap; where there is none it has got as far as a prediction goes.
func FuzzPredictions(f *testing.F) {
	all, err := samples()
	if err != nil {
		f.Fatal(err)
	}
	for i, s := range all {
		f.Add(s.raw, []byte{byte(i), 3, 1, 2, 3, byte(i)})
	}
	f.Fuzz(func(t *testing.T, raw, shape []byte) {
		contexts := []consumer.Context{
			{CNIVersion: "1.0.0", Network: "net", ContainerID: "vm-1", IfName: "eth0", Netns: netns},
			{CNIVersion: "0.3.1", Network: "net", ContainerID: "vm-1", IfName: "eth0", Netns: netns, Secondary: true},
		}
		for _, c := range contexts {
			for _, result := range [][]byte{raw, built(shape, c.CNIVersion)} {
				if err := difference(result, c); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// difference is nil when every prediction is what the consumer's code does.
func difference(raw []byte, c consumer.Context) error {
	if theirs, ours := realContainerd(raw, c), predicted(raw, c, consumer.NameContainerd); theirs != ours {
		return fmt.Errorf("%s\ngo-cni: %v\nours:   %v", raw, theirs, ours)
	}
	if theirs, ours := realMultus(raw, c), predicted(raw, c, consumer.NameMultus); theirs != ours {
		return fmt.Errorf("%s\nmultus: %v\nours:   %v", raw, theirs, ours)
	}
	theirs, missing := realFirecracker(raw, c)
	ours := predicted(raw, c, consumer.NameFirecracker)
	if missing && ours.How != consumer.OutcomeError {
		// The SDK would have read the mask, which may panic, only after that.
		return nil
	}
	if theirs != ours || missing {
		return fmt.Errorf("%s\nvmconf: %v (no such tap: %v)\nours:   %v", raw, theirs, missing, ours)
	}
	return nil
}

// built makes a Result of bytes: each list's length, and for every value a choice of what makes a difference somewhere.
// The tap named lo in the own namespace is one that vmconf finds.
func built(shape []byte, cniVersion string) []byte {
	choose := func(n int) int {
		if len(shape) == 0 {
			return 0
		}
		b := shape[0]
		shape = shape[1:]
		return int(b) % n
	}
	pick := func(of ...any) any { return of[choose(len(of))] }
	list := func(most int, entry func() any) []any {
		entries := []any{}
		for range choose(most + 1) {
			if choose(16) == 15 {
				entries = append(entries, nil)
			} else {
				entries = append(entries, entry())
			}
		}
		return entries
	}
	// A key that is nil is left out.
	object := func(keys ...any) any {
		o := map[string]any{}
		for i := 0; i < len(keys); i += 2 {
			if keys[i+1] != nil {
				o[keys[i].(string)] = keys[i+1]
			}
		}
		return o
	}
	prefixes := []any{"10.0.0.5/32", "10.0.0.6/24", "2001:db8::5/64", "fe80::1/64", "::ffff:10.0.0.7/120", "0.0.0.0/0"}
	result := object(
		"cniVersion", pick(cniVersion, nil, "0.4.0", "1.1.0"),
		"interfaces", list(4, func() any {
			return object(
				"name", pick("eth0", "lo", "cali1", "", "net1"),
				"mac", pick(nil, "02:00:00:00:00:01", "2"),
				"mtu", pick(nil, 1450),
				"sandbox", pick(nil, netns, "/proc/thread-self/ns/net", "vm-1", "vm-1"),
				"pciID", pick(nil, nil, "0000:00:01.0"),
			)
		}),
		"ips", list(4, func() any {
			return object(
				"version", "4",
				"interface", pick(nil, 0, 1, 2, 3, 4, -1, 7),
				"address", pick(append(prefixes, nil)...),
				"gateway", pick(nil, "10.0.0.1", "fe80::2"),
			)
		}),
		"routes", list(3, func() any {
			return object(
				"dst", pick(append(prefixes, "::/0", "0.0.0.0/1", "::/1")...),
				"gw", pick(nil, "10.0.0.1", "fe80::2"),
			)
		}),
		"dns", pick(nil, object("nameservers", []string{"10.0.0.53"}, "domain", "x"),
			object("search", []string{"a"}, "nameservers", []string{"1.1.1.1", "1.0.0.1", "8.8.8.8"}, "options", []string{"o"})),
	)
	raw, err := json.Marshal(result)
	if err != nil {
		panic(err) // no value of these fails
	}
	return raw
}
