// SPDX-License-Identifier: Apache-2.0

// Package diff writes the unified diff of two small texts, as diff -u does. It is
// pure.
//
// Convention: lines end with \n; what precedes it, a \r too, belongs to the line. A conflist
// has some hundred lines at most, and a change to it a few, so the plain quadratic algorithm does.
package diff

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/result-enricher/result-enricher/internal/lines"
)

// context is the number of unchanged lines around a change.
const context = 3

// Unified gives the diff of before and after, headed by name; "" for equal texts.
func Unified(name string, before, after []byte) string {
	if bytes.Equal(before, after) {
		return ""
	}
	all := lines.Compare(split(before), split(after), lines.Equal)
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", name, name)
	for start := 0; start < len(all); {
		first := next(all, start)
		if first == len(all) {
			break
		}
		end := hunkEnd(all, first)
		writeHunk(&out, all, max(start, first-context), end)
		start = end
	}
	return out.String()
}

func split(text []byte) []string {
	lines := strings.SplitAfter(string(text), "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// next gives the position of the first change from start on.
func next(all []lines.Line, start int) int {
	for start < len(all) && all[start].Mark == ' ' {
		start++
	}
	return start
}

// hunkEnd gives the end of the hunk that a change opens: the context behind the last
// change that is no further than twice the context from the one before it.
func hunkEnd(all []lines.Line, change int) int {
	for {
		end := change
		for end < len(all) && all[end].Mark != ' ' {
			end++
		}
		following := next(all, end)
		if following == len(all) || following-end > 2*context {
			return min(len(all), end+context)
		}
		change = following
	}
}

func writeHunk(out *strings.Builder, all []lines.Line, start, end int) {
	var startA, startB, countA, countB int
	for i, l := range all[:end] {
		inA, inB := l.Mark != '+', l.Mark != '-'
		switch {
		case i < start:
			startA, startB = startA+count(inA), startB+count(inB)
		default:
			countA, countB = countA+count(inA), countB+count(inB)
		}
	}
	fmt.Fprintf(out, "@@ -%s +%s @@\n", span(startA, countA), span(startB, countB))
	for _, l := range all[start:end] {
		out.WriteByte(l.Mark)
		out.WriteString(l.Text)
		if !strings.HasSuffix(l.Text, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// span writes a position as diff does: lines are counted from 1, and an empty span names
// the line before it.
func span(before, lines int) string {
	if lines == 0 {
		return fmt.Sprintf("%d,0", before)
	}
	return fmt.Sprintf("%d,%d", before+1, lines)
}
