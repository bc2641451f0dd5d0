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
	"slices"
	"strings"
)

// context is the number of unchanged lines around a change.
const context = 3

// line is one line of the diff: ' ' in both texts, '-' only in the first, '+' only in
// the second.
type line struct {
	kind byte
	text string
}

// Unified gives the diff of before and after, headed by name; "" for equal texts.
func Unified(name string, before, after []byte) string {
	if bytes.Equal(before, after) {
		return ""
	}
	lines := compare(split(before), split(after))
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", name, name)
	for start := 0; start < len(lines); {
		first := next(lines, start)
		if first == len(lines) {
			break
		}
		end := hunkEnd(lines, first)
		writeHunk(&out, lines, max(start, first-context), end)
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

// compare lists the lines of both texts. What they begin and end with in common is set
// aside first: a change to a conflist is a few lines.
func compare(a, b []string) []line {
	var head, tail []line
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		head = append(head, line{' ', a[0]})
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		tail = append(tail, line{' ', a[len(a)-1]})
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	slices.Reverse(tail)
	return slices.Concat(head, compareDifferent(a, b), tail)
}

// compareDifferent finds a longest common subsequence.
func compareDifferent(a, b []string) []line {
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var lines []line
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			lines = append(lines, line{' ', a[i]})
			i++
			j++
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			lines = append(lines, line{'-', a[i]})
			i++
		default:
			lines = append(lines, line{'+', b[j]})
			j++
		}
	}
	return lines
}

// next gives the position of the first change from start on.
func next(lines []line, start int) int {
	for start < len(lines) && lines[start].kind == ' ' {
		start++
	}
	return start
}

// hunkEnd gives the end of the hunk that a change opens: the context behind the last
// change that is no further than twice the context from the one before it.
func hunkEnd(lines []line, change int) int {
	for {
		end := change
		for end < len(lines) && lines[end].kind != ' ' {
			end++
		}
		following := next(lines, end)
		if following == len(lines) || following-end > 2*context {
			return min(len(lines), end+context)
		}
		change = following
	}
}

func writeHunk(out *strings.Builder, lines []line, start, end int) {
	var startA, startB, countA, countB int
	for i, l := range lines[:end] {
		inA, inB := l.kind != '+', l.kind != '-'
		switch {
		case i < start:
			startA, startB = startA+count(inA), startB+count(inB)
		default:
			countA, countB = countA+count(inA), countB+count(inB)
		}
	}
	fmt.Fprintf(out, "@@ -%s +%s @@\n", span(startA, countA), span(startB, countB))
	for _, l := range lines[start:end] {
		out.WriteByte(l.kind)
		out.WriteString(l.text)
		if !strings.HasSuffix(l.text, "\n") {
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
