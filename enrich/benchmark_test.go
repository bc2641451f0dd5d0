// SPDX-License-Identifier: Apache-2.0

package enrich_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/result-enricher/result-enricher/enrich"
)

// benchmarked is a Result as Calico gives it, with as many addresses, and what is
// seen of its pod.
func benchmarked(addresses int) (prevResult string, obs enrich.Observation) {
	var ips, held []string
	for i := range addresses {
		a := fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255)
		ips, held = append(ips, `{"address":"`+a+`/32"}`), append(held, a)
	}
	return `{"cniVersion":"1.1.0","interfaces":[{"name":"cali0"}],"ips":[` + strings.Join(ips, ",") + `]}`, pod(held...)
}

// BenchmarkCore is the work of an ADD between its input and its output, without
// what only the first of a process has to do.
func BenchmarkCore(b *testing.B) {
	for _, addresses := range []int{1, 100, 10_000} {
		prevResult, obs := benchmarked(addresses)
		raw, call := []byte(prevResult), callOf("1.1.0")
		b.Run(fmt.Sprintf("parse/addresses=%d", addresses), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := enrich.Parse(raw, call.CNIVersion); err != nil {
					b.Fatal(err)
				}
			}
		})
		prev, err := enrich.Parse(raw, call.CNIVersion)
		if err != nil {
			b.Fatal(err)
		}
		outcome := enrich.Apply(prev, call, obs, enrich.Options{})
		if len(outcome.Repairs) != 1+addresses {
			b.Fatalf("%d repairs", len(outcome.Repairs))
		}
		b.Run(fmt.Sprintf("apply/addresses=%d", addresses), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				enrich.Apply(prev, call, obs, enrich.Options{})
			}
		})
		b.Run(fmt.Sprintf("encode/addresses=%d", addresses), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := enrich.Encode(outcome.Result, call.CNIVersion); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
