// SPDX-License-Identifier: Apache-2.0

// Package listing writes attachments for a person: all of a node as a table, or
// those of one container in full. It writes to the screen it is given and touches
// nothing else.
package listing

import (
	"fmt"
	"net/netip"
	"strings"
	"unicode/utf8"

	"github.com/result-enricher/result-enricher/enrich/attachment"
	"github.com/result-enricher/result-enricher/enrichctl/internal/screen"
)

// shortID is how much of a container's ID is shown, as crictl does it.
const shortID = 13

var heads = []string{"CONTAINER", "NETWORK", "IF", "MAC", "MTU", "HOST DEVICE", "ADDRESSES"}

// Table writes one line for each attachment. Addresses come last, for there may be
// many; what is not known is a dash, and what could not be looked at is marked.
func Table(s *screen.Screen, all []attachment.Attachment) {
	rows := [][]string{heads}
	marked := false
	for _, a := range all {
		id := a.ContainerID
		if len(id) > shortID {
			id = id[:shortID]
		}
		host := a.HostDevice
		if a.Incomplete != nil {
			host, marked = "?", true
		}
		row := []string{id, a.Network, a.Interface, a.MAC, number(a.MTU), host, strings.Join(addresses(a), " ")}
		for i, text := range row {
			row[i] = dash(screen.Safe(text))
		}
		rows = append(rows, row)
	}
	widths := make([]int, len(heads))
	for _, row := range rows {
		for i, text := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(text))
		}
	}
	for n, row := range rows {
		var line strings.Builder
		for i, text := range row {
			line.WriteString(text)
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[i]+2-utf8.RuneCountInString(text)))
			}
		}
		style := screen.Plain
		if n == 0 {
			style = screen.Heading
		}
		s.Line(style, line.String())
	}
	if marked {
		s.Line(screen.Faint, "? the namespace cannot be inspected; enrichctl show CONTAINER says why")
	}
}

// Full writes everything about each attachment.
func Full(s *screen.Screen, all []attachment.Attachment) {
	for n, a := range all {
		if n > 0 {
			s.Line(screen.Plain, "")
		}
		full(s, a)
	}
}

func full(s *screen.Screen, a attachment.Attachment) {
	row := func(label string, values ...string) {
		var cells []screen.Cell
		for _, v := range values {
			cells = append(cells, screen.Cell{Text: screen.Safe(v)})
		}
		if len(cells) == 0 {
			cells = []screen.Cell{{Style: screen.Faint, Text: "-"}}
		}
		s.Row(label, []int{13, screen.Width - 13}, cells)
	}
	row("container", a.ContainerID)
	row("network", fmt.Sprintf("%s, CNI %s", a.Network, a.CNIVersion))
	row("interface", strings.TrimSpace(a.Interface+" "+a.Kind))
	row("namespace", known(a.Netns)...)
	row("mac", known(a.MAC)...)
	row("mtu", known(number(a.MTU))...)
	var withGateways []string
	for _, address := range a.Addresses {
		withGateways = append(withGateways, via(address.Prefix, address.Gateway))
	}
	row("addresses", withGateways...)
	var routes []string
	for _, route := range a.Routes {
		routes = append(routes, via(route.Destination, route.Gateway))
	}
	row("routes", routes...)
	row("dns", dns(a)...)
	row("host device", known(a.HostDevice)...)
	if a.Tap != nil {
		text := a.Tap.Name + ", guest " + dash(a.Tap.GuestMAC)
		if a.Tap.MTU > 0 {
			text += fmt.Sprintf(", mtu %d", a.Tap.MTU)
		}
		row("tap", text)
	}
	if a.Incomplete != nil {
		s.Row("incomplete", []int{13, screen.Width - 13}, []screen.Cell{{Style: screen.Bad, Text: screen.Safe(a.Incomplete.Error())}})
	}
}

func dns(a attachment.Attachment) []string {
	var lines []string
	if len(a.DNS.Nameservers) > 0 {
		lines = append(lines, strings.Join(a.DNS.Nameservers, ", "))
	}
	if a.DNS.Domain != "" {
		lines = append(lines, "domain "+a.DNS.Domain)
	}
	if len(a.DNS.Search) > 0 {
		lines = append(lines, "search "+strings.Join(a.DNS.Search, " "))
	}
	if len(a.DNS.Options) > 0 {
		lines = append(lines, "options "+strings.Join(a.DNS.Options, " "))
	}
	return lines
}

func addresses(a attachment.Attachment) []string {
	var texts []string
	for _, address := range a.Addresses {
		texts = append(texts, address.Prefix.String())
	}
	return texts
}

func via(prefix netip.Prefix, gateway netip.Addr) string {
	if gateway.IsValid() {
		return prefix.String() + " via " + gateway.String()
	}
	return prefix.String()
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// known is text, or nothing.
func known(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}
