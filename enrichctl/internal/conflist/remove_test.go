// SPDX-License-Identifier: Apache-2.0

package conflist_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/enrichctl/internal/conflist"
)

var _ = Describe("Remove", func() {
	DescribeTable("takes every entry out",
		func(before, after string, count int) {
			out, n, err := conflist.Remove([]byte(list(strings.ReplaceAll(before, "@", ours))))
			Expect(err).NotTo(HaveOccurred())
			Expect(n).To(Equal(count))
			Expect(string(out)).To(Equal(list(after)))
		},
		Entry("the last", `[{"type":"a"}, @ ]`, `[{"type":"a"} ]`, 1),
		Entry("one in the middle", `[{"type":"a"}, @,  {"type":"b"}]`, `[{"type":"a"},  {"type":"b"}]`, 1),
		Entry("one in front", `[ @, {"type":"a"}]`, `[ {"type":"a"}]`, 1),
		Entry("all of them", `[@,@,{"type":"a"},@,{"type":"b"} , @,@]`, `[{"type":"a"},{"type":"b"}]`, 5),
		Entry("one between lo and the primary", `[{"type":"loopback"},@,{"type":"bridge"}]`, `[{"type":"loopback"},{"type":"bridge"}]`, 1),
		Entry("with whatever settings", `[{"type":"a"},{"x":[{"type":"b"}],"type":"result-enricher","y":"}"}]`, `[{"type":"a"}]`, 1),
		Entry("spelled with escapes", `[{"type":"a"},{"\u0074ype":"\u0072esult-enricher"}]`, `[{"type":"a"}]`, 1),
		Entry("with a type key that libcni reads", `[{"type":"a"},{"Type":"result-enricher"}]`, `[{"type":"a"}]`, 1),
		Entry("with its type twice", `[{"type":"a"},{"type":"result-enricher","type":"result-enricher"}]`, `[{"type":"a"}]`, 1),
		Entry("beside plugins that are no objects", `[null,@,7,{}]`, `[null,7,{}]`, 1),
		Entry("beside numbers out of range", `[{"type":"a","x":1e999},@]`, `[{"type":"a","x":1e999}]`, 1),
		Entry("beside keys that are there twice", `[{"type":"a","x":1,"x":2},@]`, `[{"type":"a","x":1,"x":2}]`, 1),
	)

	DescribeTable("minds nothing else in the list",
		func(before, after string) {
			out, n, err := conflist.Remove([]byte(before))
			Expect(err).NotTo(HaveOccurred())
			Expect(n).To(Equal(1))
			Expect(string(out)).To(Equal(after))
		},
		Entry("no version", `{"name":"n","plugins":[{"type":"a"},`+ours+`]}`, `{"name":"n","plugins":[{"type":"a"}]}`),
		Entry("a version nobody knows", `{"cniVersion":"9.0.0","name":"n","plugins":[{"type":"a"},`+ours+`]}`, `{"cniVersion":"9.0.0","name":"n","plugins":[{"type":"a"}]}`),
		Entry("no name", `{"plugins":[{"type":"a"},`+ours+`]}`, `{"plugins":[{"type":"a"}]}`),
		Entry("other keys twice", `{"x":1,"x":2,"plugins":[{"type":"a"},`+ours+`]}`, `{"x":1,"x":2,"plugins":[{"type":"a"}]}`),
	)

	DescribeTable("finds nothing",
		func(data string) {
			before := []byte(data)
			out, n, err := conflist.Remove(before)
			Expect(err).NotTo(HaveOccurred())
			Expect(n).To(BeZero())
			Expect(&out[0]).To(BeIdenticalTo(&before[0]))
		},
		Entry("in a list without ours", list(`[{"type":"a"}]`)),
		Entry("in a list without plugins", list(`[]`)),
		Entry("in a list whose plugins are no array", list(`"result-enricher"`)),
		Entry("in a configuration of one plugin", `{"name":"n","type":"bridge"}`),
		Entry("in a configuration of our plugin alone", `{"name":"n","type":"result-enricher"}`),
		Entry("in the copy that multus holds", `{"type":"multus","delegates":[{"plugins":[{"type":"a"},`+ours+`]}]}`),
		Entry("in a key that is no type", list(`[{"type":"a","name":"result-enricher"}]`)),
		Entry("in another document", `[1,2,3]`),
		Entry("in a stranger's file with a byte order mark", "\xef\xbb\xbf{}"),
		Entry("in a stranger's file with trailing bytes", `{} trailing`),
		Entry("in a stranger's list with plugins twice", `{"plugins":[{"type":"a"}],"plugins":[]}`),
		Entry("in a stranger's list with two types", list(`[{"type":"a","type":"b"}]`)),
	)

	DescribeTable("refuses",
		func(data, wantCode string) {
			out, n, err := conflist.Remove([]byte(data))
			Expect(code(err)).To(Equal(wantCode))
			Expect(n).To(BeZero())
			Expect(out).To(BeNil())
		},
		Entry("an empty file", "", conflist.CodeEmpty),
		Entry("half a file", `{"plugins":[{"type":"a"},`, conflist.CodeInvalidJSON),
		Entry("a byte order mark before our entry", "\xef\xbb\xbf"+list(`[{"type":"a"},`+ours+`]`), conflist.CodeBOM),
		Entry("bytes behind a list with our entry", list(`[{"type":"a"},`+ours+`]`)+"x", conflist.CodeTrailingBytes),
		Entry("plugins twice, one with our entry", `{"plugins":[{"type":"a"},`+ours+`],"plugins":[{"type":"a"}]}`, conflist.CodeDuplicateKey),
		Entry("our entry under Plugins", `{"Plugins":[{"type":"a"},`+ours+`]}`, conflist.CodeAmbiguousKey),
		Entry("an entry that is ours or is not", list(`[{"type":"a"},{"type":"result-enricher","type":"b"}]`), conflist.CodeAmbiguousKey),
		Entry("our entry alone: libcni accepts no empty list", list(`[`+ours+`]`), conflist.CodeAlone),
	)
})

var _ = DescribeTable("Mentions",
	func(data string, want bool) { Expect(conflist.Mentions([]byte(data))).To(Equal(want)) },
	Entry("a list with ours", list(`[{"type":"a"},`+ours+`]`), true),
	Entry("the copy in a multus configuration", `{"type":"multus","delegates":[{"plugins":[{"type":"a"},`+ours+`]}]}`, true),
	Entry("the configuration of our plugin alone", `{"type":"result-enricher"}`, true),
	Entry("escapes", `[[{"\u0054ype":"result\u002denricher"}]]`, true),
	Entry("half a file that names it", `{"plugins":[{"type":"result-enricher"`, true),
	Entry("half a file that does not", `{"plugins":[{"type":"result-`, false),
	Entry("a value that is no type", `{"name":"result-enricher","x":["type","result-enricher"]}`, false),
	Entry("a type that is an object", `{"type":{"name":"result-enricher"}}`, false),
	Entry("another type", list(`[{"type":"a"}]`), false),
	Entry("nothing", ``, false),
)
