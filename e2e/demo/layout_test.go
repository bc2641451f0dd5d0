// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/internal/lines"
)

var _ = Describe("layout", func() {
	DescribeTable("breaks lines where it can and must", func(raw string, width int, want ...string) {
		Expect(layout([]byte(raw), width)).To(Equal(want))
	},
		Entry("a flat object that fits", `{"b":1,"a":"x, y: \"z"}`, 40, `{"b": 1, "a": "x, y: \"z"}`),
		Entry("a flat object that does not", `{"b":1,"a":2}`, 10, `{`, `  "b": 1,`, `  "a": 2`, `}`),
		Entry("a list with something in it", `[{"a":1},{}]`, 40, `[`, `  {"a": 1},`, `  {}`, `]`),
		Entry("the key counts for the width of its value", `{"key":{"a":1}}`, 17,
			`{`, `  "key": {`, `    "a": 1`, `  }`, `}`),
		Entry("with one more column it fits", `{"key":{"a":1}}`, 18, `{`, `  "key": {"a": 1}`, `}`),
		Entry("a scalar", ` null `, 40, `null`),
		Entry("what is no JSON", `{"a`, 40, `{"a`),
	)

	It("has no line for nothing", func() {
		Expect(layout(nil, 40)).To(BeEmpty())
	})
})

var _ = Describe("compare", func() {
	joined := func(changes []lines.Line) string {
		var out strings.Builder
		for _, c := range changes {
			out.WriteString(string(c.Mark) + c.Text)
		}
		return out.String()
	}
	DescribeTable("marks what differs", func(before, after, want string) {
		Expect(joined(compare(strings.Split(before, " "), strings.Split(after, " ")))).To(Equal(want))
	},
		Entry("nothing", "a b", "a b", " a b"),
		Entry("a comma only", "a b", "a, b,", " a, b,"),
		Entry("an addition", "a c", "a b c", " a+b c"),
		Entry("a removal", "a b c", "a c", " a-b c"),
		Entry("everything", "a b", "c d", "-a-b+c+d"),
	)
})

var _ = Describe("wrap", func() {
	DescribeTable("breaks between words", func(text string, want ...string) {
		Expect(wrap(text, 5)).To(Equal(want))
	},
		Entry("what fits", "ab cd", "ab cd"),
		Entry("what does not", "ab cde f", "ab", "cde f"),
		Entry("a word that is too long", "abcdefg h", "abcdefg", "h"),
	)
})
