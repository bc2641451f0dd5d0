// SPDX-License-Identifier: Apache-2.0

package conflist_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/enrichctl/internal/conflist"
)

var _ = Describe("Ensure", func() {
	// In the tables @ stands for our entry.
	expand := func(s string) string { return strings.ReplaceAll(s, "@", ours) }

	DescribeTable("inserts a new entry",
		func(before, after string) {
			out, err := conflist.Ensure([]byte(list(before)), []byte(ours), supported)
			Expect(err).NotTo(HaveOccurred())
			Expect(string(out)).To(Equal(list(expand(after))))
		},
		Entry("last", `[{"type":"a"},{"type":"b"}]`, `[{"type":"a"},{"type":"b"},@]`),
		Entry("with the bytes between the last two", "[{\"type\":\"a\"} ,\n\t{\"type\":\"b\"}\n]", "[{\"type\":\"a\"} ,\n\t{\"type\":\"b\"} ,\n\t@\n]"),
		Entry("not with those between the first two", `[{"type":"a"}, {"type":"b"},  {"type":"c"}]`, `[{"type":"a"}, {"type":"b"},  {"type":"c"},  @]`),
		Entry("behind a lone plugin on its own line", "[\n    {\"type\":\"a\"}\n  ]", "[\n    {\"type\":\"a\"},\n    @\n  ]"),
		Entry("behind a lone plugin with CRLF and a tab", "[\r\n\t{\"type\":\"a\"}\r\n]", "[\r\n\t{\"type\":\"a\"},\r\n\t@\r\n]"),
		Entry("behind a lone plugin on the bracket's line", "[{\n\"type\":\"a\"\n}]", "[{\n\"type\":\"a\"\n},@]"),
		Entry("behind a lone plugin with spaces", `[ {"type":"a"} ]`, `[ {"type":"a"}, @ ]`),
		Entry("before tc-redirect-tap", `[{"type":"a"}, {"type":"tc-redirect-tap"}]`, `[{"type":"a"}, @, {"type":"tc-redirect-tap"}]`),
		Entry("before the first of several tc-redirect-tap", `[{"type":"a"},{"type":"b"}, {"type":"tc-redirect-tap"},  {"type":"tc-redirect-tap"}]`,
			`[{"type":"a"},{"type":"b"}, @, {"type":"tc-redirect-tap"},  {"type":"tc-redirect-tap"}]`),
		Entry("before tc-redirect-tap that something follows", `[{"type":"a"}, {"type":"tc-redirect-tap"},{"type":"b"}]`, `[{"type":"a"}, @, {"type":"tc-redirect-tap"},{"type":"b"}]`),
		Entry("behind a primary that is tc-redirect-tap", `[{"type":"tc-redirect-tap"}]`, `[{"type":"tc-redirect-tap"},@]`),
		Entry("before a tc-redirect-tap spelled with an escape", `[{"type":"a"},{"t\u0079pe":"tc\u002dredirect-tap"}]`, `[{"type":"a"},@,{"t\u0079pe":"tc\u002dredirect-tap"}]`),
		Entry("behind lo and the primary", `[{"type":"loopback"},{"type":"bridge"}]`, `[{"type":"loopback"},{"type":"bridge"},@]`),
		Entry("whatever brackets are in strings", `[{"type":"a","x":"]}\"]},{"},{"type":"b","y":"[{\\"}]`, `[{"type":"a","x":"]}\"]},{"},{"type":"b","y":"[{\\"},@]`),
		Entry("not for a type in a nested object", `[{"type":"a","delegate":{"type":"result-enricher"}}]`, `[{"type":"a","delegate":{"type":"result-enricher"}},@]`),
		Entry("not for a nested array called plugins", `[{"type":"a","plugins":[{"type":"result-enricher"}]}]`, `[{"type":"a","plugins":[{"type":"result-enricher"}]},@]`),
		Entry("not for a type that only resembles ours", `[{"type":"a"},{"type":"Result-Enricher"}]`, `[{"type":"a"},{"type":"Result-Enricher"},@]`),
		Entry("beside numbers that no decoder keeps", `[{"type":"a","mtu":1e3,"big":18446744073709551616,"z":-0.0,"s":"9001"}]`,
			`[{"type":"a","mtu":1e3,"big":18446744073709551616,"z":-0.0,"s":"9001"},@]`),
		Entry("beside a plugin whose type key is spelled in another case", `[{"Type":"a"}]`, `[{"Type":"a"},@]`),
	)

	DescribeTable("puts what is there right",
		func(before, after string) {
			out, err := conflist.Ensure([]byte(list(expand(before))), []byte(ours), supported)
			Expect(err).NotTo(HaveOccurred())
			Expect(string(out)).To(Equal(list(expand(after))))
		},
		Entry("one in front is moved behind", `[ @, {"type":"a"}]`, `[ {"type":"a"}, @]`),
		Entry("one in front is moved to the end", `[@,{"type":"a"},{"type":"b"}]`, `[{"type":"a"},{"type":"b"},@]`),
		Entry("one in front is moved before tc-redirect-tap", `[@,{"type":"a"},{"type":"tc-redirect-tap"}]`, `[{"type":"a"},@,{"type":"tc-redirect-tap"}]`),
		Entry("one between lo and the primary is moved", `[{"type":"loopback"},@,{"type":"bridge"}]`, `[{"type":"loopback"},{"type":"bridge"},@]`),
		Entry("several in front become one behind", "[@,\n@,\t{\"type\":\"a\"}]", "[{\"type\":\"a\"},\t@]"),
		Entry("one in front goes when there is one behind", `[@, {"type":"a"},@,{"type":"b"}]`, `[{"type":"a"},@,{"type":"b"}]`),
		Entry("of two the first stays", `[{"type":"a"}, @,{"type":"b"},  @ ]`, `[{"type":"a"}, @,{"type":"b"} ]`),
		Entry("of three in a row the first stays", `[{"type":"a"}, @ ,@,@]`, `[{"type":"a"}, @]`),
		Entry("other settings are replaced in place", `[{"type":"a"}, { "type": "result-enricher", "gateways": true } ,{"type":"b"}]`, `[{"type":"a"}, @ ,{"type":"b"}]`),
		Entry("of two, the first stays and gets the settings", `[{"type":"a"},{"type":"result-enricher","x":1},{"type":"b"},@]`, `[{"type":"a"},@,{"type":"b"}]`),
		Entry("one that libcni cannot decode is replaced", `[{"type":"a"},{"type":"result-enricher","ipam":5}]`, `[{"type":"a"},@]`),
		Entry("one with a number out of range is replaced", `[{"type":"a"},{"type":"result-enricher","x":1e999}]`, `[{"type":"a"},@]`),
		Entry("one whose type key is spelled in another case is replaced", `[{"type":"a"},{"TYPE":"result-enricher"}]`, `[{"type":"a"},@]`),
	)

	DescribeTable("leaves alone what is right",
		func(plugins, entry string) {
			before := []byte(list(plugins))
			out, err := conflist.Ensure(before, []byte(entry), supported)
			Expect(err).NotTo(HaveOccurred())
			Expect(&out[0]).To(BeIdenticalTo(&before[0]), "no new bytes")
			Expect(string(out)).To(Equal(list(plugins)))
		},
		Entry("last", `[{"type":"a"},{"type":"result-enricher"}]`, ours),
		Entry("in the middle: never last at any price", `[{"type":"a"},{"type":"result-enricher"},{"type":"linkerd-cni"}]`, ours),
		Entry("behind tc-redirect-tap: the owner's choice", `[{"type":"a"},{"type":"tc-redirect-tap"},{"type":"result-enricher"}]`, ours),
		Entry("with other white space", "[{\"type\":\"a\"},{\n \"type\" : \"result-enricher\" }]", ours),
		Entry("with escapes", `[{"type":"a"},{"\u0074ype":"result\u002denricher"}]`, ours),
		Entry("with keys in another order", `[{"type":"a"},{"gateways":true,"logLevel":"debug","type":"result-enricher"}]`, `{"type":"result-enricher","logLevel":"debug","gateways":true}`),
		Entry("with a number spelled otherwise", `[{"type":"a"},{"type":"result-enricher","n":1e3}]`, `{"type":"result-enricher","n":1000}`),
	)

	It("does not write to the bytes it is given", func() {
		roomy := make([]byte, 0, 4096)
		before := append(roomy, list(`[{"type":"a"},{"type":"tc-redirect-tap"}]`)...)
		out, err := conflist.Ensure(before, []byte(ours), supported)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(out)).To(Equal(list(`[{"type":"a"},` + ours + `,{"type":"tc-redirect-tap"}]`)))
		Expect(string(before)).To(Equal(list(`[{"type":"a"},{"type":"tc-redirect-tap"}]`)))
		Expect(string(before[len(before) : len(before)+10])).To(Equal(strings.Repeat("\x00", 10)))
	})

	It("survives nesting as deep as libcni accepts", func() {
		deep := strings.Repeat(`[`, 9990) + strings.Repeat(`]`, 9990)
		out, err := conflist.Ensure([]byte(list(`[{"type":"a","x":`+deep+`}]`)), []byte(ours), supported)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(out)).To(Equal(list(`[{"type":"a","x":` + deep + `},` + ours + `]`)))
	})

	DescribeTable("refuses as an entry",
		func(entry string) {
			_, err := conflist.Ensure([]byte(list(`[{"type":"a"}]`)), []byte(entry), supported)
			Expect(code(err)).To(Equal(conflist.CodeInvalidEntry))
		},
		Entry("nothing", ``),
		Entry("another plugin", `{"type":"portmap"}`),
		Entry("two documents", ours+ours),
		Entry("a key twice", `{"type":"result-enricher","x":1,"x":2}`),
	)
})
