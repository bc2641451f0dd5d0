// SPDX-License-Identifier: Apache-2.0

package explanation

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/result-enricher/result-enricher/enrichctl/internal/screen"
	"github.com/result-enricher/result-enricher/internal/lines"
)

// order is that of the keys of a Result in the specification. libcni's cache has
// them sorted, and that is no difference to show. Other keys come last.
var order = []string{
	"cniVersion", "interfaces", "ips", "routes", "dns",
	"name", "mac", "mtu", "sandbox", "socketPath", "pciID",
	"version", "interface", "address", "gateway", "dst", "gw",
}

func rank(key string) int {
	if i := slices.Index(order, key); i >= 0 {
		return i
	}
	return len(order)
}

// layout writes JSON in lines of at most width columns where it can: an object or
// list is on one line when it fits.
func layout(raw []byte, width int) []string {
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		return []string{screen.Safe(string(raw))}
	}
	decoder := json.NewDecoder(&compact)
	decoder.UseNumber()
	return strings.Split(element(decoder, next(decoder), 0, 0, width).text, "\n")
}

// part is a laid out value. flat says that it has no list or object with content
// in it.
type part struct {
	text string
	flat bool
	rank int
}

// element lays out the value that begins with token. used is what stands before
// it on its line.
func element(decoder *json.Decoder, token json.Token, indent, used, width int) part {
	open, isOpen := token.(json.Delim)
	if !isOpen {
		return part{text: scalar(token), flat: true}
	}
	var children []part
	flat := true
	inner := strings.Repeat("  ", indent+1)
	for decoder.More() {
		key, at := "", 0
		if open == '{' {
			token := next(decoder)
			name, _ := token.(string) // a key always is one
			key, at = scalar(token)+": ", rank(name)
		}
		value := element(decoder, next(decoder), indent+1, len(inner)+utf8.RuneCountInString(key), width)
		flat = flat && value.flat
		children = append(children, part{text: key + value.text, flat: value.flat, rank: at})
	}
	closing := string(rune(open) + 2) // in ASCII, both pairs are 2 apart
	next(decoder)
	if len(children) == 0 {
		return part{text: open.String() + closing, flat: true}
	}
	slices.SortStableFunc(children, func(a, b part) int { return cmp.Compare(a.rank, b.rank) })
	texts := make([]string, len(children))
	for i, c := range children {
		texts[i] = c.text
	}
	// One column is for a comma. Nested values have lines of their own, so that
	// two Results can be compared by line.
	line := open.String() + strings.Join(texts, ", ") + closing
	if flat && used+utf8.RuneCountInString(line)+1 <= width {
		return part{text: line}
	}
	return part{text: open.String() + "\n" + inner + strings.Join(texts, ",\n"+inner) +
		"\n" + strings.Repeat("  ", indent) + closing}
}

// next gives the next token; the document was valid when it was compacted.
func next(decoder *json.Decoder) json.Token {
	token, err := decoder.Token()
	if err != nil {
		return nil
	}
	return token
}

// scalar is a value in JSON, with everything escaped that a terminal would obey.
func scalar(token json.Token) string {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(token); err != nil {
		return "null"
	}
	return screen.Safe(strings.TrimSpace(text.String()))
}

// compare leads from one layout to the other. A comma at the end of a line is no
// difference.
func compare(before, after []string) []lines.Line {
	return lines.Compare(before, after, func(a, b string) bool {
		return strings.TrimSuffix(a, ",") == strings.TrimSuffix(b, ",")
	})
}
