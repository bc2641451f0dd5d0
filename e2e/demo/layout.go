// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/result-enricher/result-enricher/internal/lines"
)

// layout breaks a JSON document into lines of at most width columns where it can. A list or object is on one line when
// it fits and has none inside, so that two documents can be compared line by line. The order of the keys is kept. What is
// no JSON comes out as it is.
func layout(raw []byte, width int) []string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return nil
	}
	return strings.Split(value(raw, "", "", width), "\n")
}

// value is one JSON value. Its first line begins with indent and key, which are not part of what is returned; a line
// that follows begins with indent.
func value(raw []byte, indent, key string, width int) string {
	line := spaced(raw)
	if raw[0] != '{' && raw[0] != '[' || len(line) == len("{}") {
		return line
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if _, err := decoder.Token(); err != nil {
		return line
	}
	deeper := indent + "  "
	var parts []string
	nested := false
	for decoder.More() {
		name := ""
		if raw[0] == '{' {
			token, err := decoder.Token()
			if err != nil {
				return line
			}
			name = quote(token) + ": "
		}
		var child json.RawMessage
		if err := decoder.Decode(&child); err != nil {
			return line
		}
		nested = nested || child[0] == '{' || child[0] == '['
		parts = append(parts, deeper+name+value(child, deeper, name, width))
	}
	// One column is for the comma behind it.
	if !nested && len(indent)+len(key)+len(line)+1 <= width {
		return line
	}
	return line[:1] + "\n" + strings.Join(parts, ",\n") + "\n" + indent + line[len(line)-1:]
}

// spaced is raw on one line with a blank behind every comma and colon.
func spaced(raw []byte) string {
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		return string(raw)
	}
	var out strings.Builder
	inString, escaped := false, false
	for _, c := range compact.Bytes() {
		out.WriteByte(c)
		switch {
		case escaped:
			escaped = false
		case inString && c == '\\':
			escaped = true
		case c == '"':
			inString = !inString
		case !inString && (c == ',' || c == ':'):
			out.WriteByte(' ')
		}
	}
	return out.String()
}

func quote(token json.Token) string {
	raw, err := json.Marshal(token)
	if err != nil {
		return ""
	}
	return string(raw)
}

// wrap breaks text between words.
func wrap(text string, width int) []string {
	var lines []string
	current := ""
	for _, word := range strings.Fields(text) {
		if current != "" && len(current)+1+len(word) > width {
			lines = append(lines, current)
			current = ""
		}
		if current != "" {
			current += " "
		}
		current += word
	}
	return append(lines, current)
}

// compare leads from one layout to the other. A comma at the end of a line is no
// difference.
func compare(before, after []string) []lines.Line {
	return lines.Compare(before, after, func(a, b string) bool {
		return strings.TrimSuffix(a, ",") == strings.TrimSuffix(b, ",")
	})
}
