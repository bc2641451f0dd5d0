// SPDX-License-Identifier: Apache-2.0

// Package lines compares two texts line by line, for diffs that people read. It
// is pure.
//
// The convention it relies on: texts have some hundred lines and differ in a few,
// so the plain quadratic algorithm does.
package lines

import "slices"

// Line is one line of a comparison.
type Line struct {
	// Mark is ' ' for a line of both texts, '-' or '+' for one of the first or
	// the second only.
	Mark byte
	Text string
}

// Equal is the comparison of lines as they are.
func Equal(a, b string) bool { return a == b }

// Compare leads from one text to the other by their longest common subsequence;
// of lines that are the same, that of the second is shown. What the texts begin
// and end with in common is set aside first.
func Compare(before, after []string, same func(a, b string) bool) []Line {
	var head, tail []Line
	for len(before) > 0 && len(after) > 0 && same(before[0], after[0]) {
		head = append(head, Line{' ', after[0]})
		before, after = before[1:], after[1:]
	}
	for len(before) > 0 && len(after) > 0 && same(before[len(before)-1], after[len(after)-1]) {
		tail = append(tail, Line{' ', after[len(after)-1]})
		before, after = before[:len(before)-1], after[:len(after)-1]
	}
	slices.Reverse(tail)
	return slices.Concat(head, different(before, after, same), tail)
}

func different(before, after []string, same func(a, b string) bool) []Line {
	// common[i][j] is how many lines before[i:] and after[j:] have in common.
	common := make([][]int, len(before)+1)
	for i := range common {
		common[i] = make([]int, len(after)+1)
	}
	for i := len(before) - 1; i >= 0; i-- {
		for j := len(after) - 1; j >= 0; j-- {
			if same(before[i], after[j]) {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var out []Line
	for i, j := 0, 0; i < len(before) || j < len(after); {
		switch {
		case i < len(before) && j < len(after) && same(before[i], after[j]):
			out = append(out, Line{' ', after[j]})
			i, j = i+1, j+1
		case j == len(after) || i < len(before) && common[i+1][j] >= common[i][j+1]:
			out = append(out, Line{'-', before[i]})
			i++
		default:
			out = append(out, Line{'+', after[j]})
			j++
		}
	}
	return out
}
