// SPDX-License-Identifier: Apache-2.0

package explanation

import (
	"fmt"
	"strings"

	"github.com/result-enricher/result-enricher/enrich/consumer"
	"github.com/result-enricher/result-enricher/enrichctl/internal/screen"
)

// cells are the lines of one consumer's view: what it has, and marked with ! what
// is wrong with it.
func cells(p consumer.Prediction, ifName string) []screen.Cell {
	var lines []screen.Cell
	add := func(style screen.Style, format string, args ...any) {
		if text := fmt.Sprintf(format, args...); text != "" {
			lines = append(lines, screen.Cell{Style: style, Text: screen.Safe(text)})
		}
	}
	switch {
	case noMachine(p):
		add(screen.Faint, "no machine yet")
		if len(p.Faults) == 0 {
			add(screen.Plain, "tc-redirect-tap copies 1 address")
		}
	case p.Outcome == consumer.OutcomePanic:
		add(screen.Bad, "! %s", strings.ToUpper(consumer.OutcomePanic)+strings.TrimPrefix(p.Error, consumer.OutcomePanic))
	case p.Outcome == consumer.OutcomeError:
		add(screen.Bad, "! error: %s", p.Error)
	}
	switch view := p.View.(type) {
	case consumer.Containerd:
		own := view.Interfaces[ifName]
		add(screen.Plain, "%s", words(ifName, own.MAC))
		add(screen.Plain, "%s", strings.Join(view.PodIPs(ifName), ", "))
	case []consumer.NetworkStatus:
		for _, status := range view {
			add(screen.Plain, "%s", words(status.Interface, status.MAC))
			add(screen.Plain, "%s", strings.Join(status.IPs, ", "))
			if status.Default {
				add(screen.Plain, "default")
			}
			if status.MTU > 0 {
				add(screen.Plain, "mtu %d", status.MTU)
			}
			if len(status.Gateway) > 0 {
				add(screen.Plain, "gateway %s", strings.Join(status.Gateway, ", "))
			}
		}
	case consumer.Firecracker:
		add(screen.Plain, "%s", words(view.Tap, view.MAC))
		if boot, err := view.BootParameter(); err == nil {
			add(screen.Plain, "ip=%s", boot)
		}
	case consumer.Nomad:
		add(screen.Plain, "%s", view.Interface)
		ips := []string{view.Address}
		if view.AddressIPv6 != "" && view.AddressIPv6 != view.Address {
			ips = append(ips, view.AddressIPv6)
		}
		add(screen.Plain, "%s", strings.Join(ips, ", "))
	}
	for _, f := range p.Faults {
		add(screen.Bad, "! %s", f.Message)
	}
	return lines
}

// words are those that are not empty.
func words(of ...string) string {
	return strings.Join(strings.Fields(strings.Join(of, " ")), " ")
}
