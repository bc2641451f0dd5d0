// SPDX-License-Identifier: Apache-2.0

package explanation

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = DescribeTable("lays out", func(raw string, want ...string) {
	Expect(layout([]byte(raw), 30)).To(Equal(want))
},
	Entry("a flat object that fits", `{"a":1,"b":[]}`, `{"a": 1, "b": []}`),
	Entry("a flat object that does not", `{"a":"0123456789","b":"0123456789"}`, `{`, `  "a": "0123456789",`, `  "b": "0123456789"`, `}`),
	Entry("nested ones on lines of their own", `{"x":[{"a":1},2]}`, `{`, `  "x": [`, `    {"a": 1},`, `    2`, `  ]`, `}`),
	Entry("keys in the specification's order, others last", `{"z":1,"dns":{},"a":2,"cniVersion":"1.0.0"}`,
		`{`, `  "cniVersion": "1.0.0",`, `  "dns": {},`, `  "z": 1,`, `  "a": 2`, `}`),
	Entry("large numbers as they are", `[12345678901234567890]`, `[12345678901234567890]`),
	Entry("marks and brackets as they are", `"<&>"`, `"<&>"`),
	Entry("null and truth", `[null,true]`, `[null, true]`),
)

var _ = DescribeTable("compares", func(before, after string, want ...string) {
	var got []string
	for _, c := range compare(layout([]byte(before), 10), layout([]byte(after), 10)) {
		got = append(got, string(c.Mark)+c.Text)
	}
	Expect(got).To(Equal(want))
},
	Entry("equal texts", `["aaaa","bbbb"]`, `["aaaa","bbbb"]`, ` [`, `   "aaaa",`, `   "bbbb"`, ` ]`),
	Entry("an addition, without the comma before it", `["aaaa"]`, `["aaaa","bbbb"]`, `-["aaaa"]`, `+[`, `+  "aaaa",`, `+  "bbbb"`, `+]`),
	Entry("an addition to a list of lines", `["aaaa","bbbb"]`, `["aaaa","bbbb","cccc"]`, ` [`, `   "aaaa",`, `   "bbbb",`, `+  "cccc"`, ` ]`),
	Entry("a removal", `["aaaa","bbbb","cccc"]`, `["aaaa","cccc"]`, ` [`, `   "aaaa",`, `-  "bbbb",`, `   "cccc"`, ` ]`),
)
