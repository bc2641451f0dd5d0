// SPDX-License-Identifier: Apache-2.0

package conflist_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/enrichctl/internal/conflist"
)

var _ = Describe("Entry", func() {
	DescribeTable("builds",
		func(config, want string) {
			entry, err := conflist.Entry([]byte(config))
			Expect(err).NotTo(HaveOccurred())
			Expect(string(entry)).To(Equal(want))
		},
		Entry("no settings", `{}`, ours),
		Entry("no settings, with white space", " {\n} ", ours),
		Entry("settings in their order", "{ \"logLevel\": \"debug\",\r\n\t\"gateways\": true }", `{"type":"result-enricher","logLevel":"debug","gateways":true}`),
		Entry("numbers and characters as they are", `{"n":18446744073709551616,"m":1e3,"s":"<&> ü\u00fc"}`, `{"type":"result-enricher","n":18446744073709551616,"m":1e3,"s":"<&> ü\u00fc"}`),
		Entry("unknown keys, nested", `{"x":{"type":"ok","a":[{"name":1}]}}`, `{"type":"result-enricher","x":{"type":"ok","a":[{"name":1}]}}`),
	)

	DescribeTable("refuses",
		func(config, says string) {
			entry, err := conflist.Entry([]byte(config))
			Expect(entry).To(BeNil())
			Expect(code(err)).To(Equal(conflist.CodeInvalidConfig))
			Expect(err.Error()).To(ContainSubstring(says))
		},
		Entry("nothing", ``, "not valid JSON"),
		Entry("half an object", `{"logLevel":`, "not valid JSON"),
		Entry("two objects", `{}{}`, "not valid JSON"),
		Entry("an array", `[]`, "no JSON object"),
		Entry("null", `null`, "no JSON object"),
		Entry("a string", `"{}"`, "no JSON object"),
		Entry("type", `{"type":"result-enricher"}`, `"type"`),
		Entry("type, escaped", `{"\u0074ype":"x"}`, `"type"`),
		Entry("type in another case", `{"Type":"x"}`, `"Type"`),
		Entry("name", `{"name":"x"}`, `"name"`),
		Entry("cniVersion", `{"cniVersion":"1.0.0"}`, `"cniVersion"`),
		Entry("CNIVersion", `{"CNIVersion":"1.0.0"}`, `"CNIVersion"`),
		Entry("prevResult", `{"prevResult":{}}`, `"prevResult"`),
		Entry("a key twice", `{"logLevel":"info","log\u004cevel":"debug"}`, `"logLevel"`),
		Entry("a key in two cases", `{"logLevel":"info","loglevel":"debug"}`, `"loglevel"`),
		Entry("a nested key twice", `{"x":{"y":1,"y":2}}`, `"y"`),
		Entry("a number out of range", `{"x":1e999}`, "a number cannot be decoded"),
		Entry("capabilities that libcni cannot decode", `{"capabilities":["ips"]}`, "capabilities"),
		Entry("nesting that libcni does not accept", `{"x":`+strings.Repeat("[", 10000)+strings.Repeat("]", 10000)+`}`, "not valid JSON"),
	)
})
