// SPDX-License-Identifier: Apache-2.0

package conflist_test

import (
	"errors"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/enrichctl/internal/conflist"
)

var _ = Describe("Ensure refuses", func() {
	const temporary = true
	refused := func(data, wantCode string, wantTemporary bool, says string) {
		GinkgoHelper()
		out, err := conflist.Ensure([]byte(data), []byte(ours), supported)
		Expect(out).To(BeNil())
		var refusal *conflist.Refusal
		Expect(errors.As(err, &refusal)).To(BeTrue(), "got %v", err)
		Expect(refusal.Code).To(Equal(wantCode), refusal.Detail)
		Expect(refusal.Temporary).To(Equal(wantTemporary))
		Expect(refusal.Detail).To(ContainSubstring(says))
		Expect(refusal.Error()).To(Equal(wantCode + ": " + refusal.Detail))
	}

	DescribeTable("documents", refused,
		Entry("nothing", "", conflist.CodeEmpty, temporary, "empty"),
		Entry("white space", " \r\n\t\n", conflist.CodeEmpty, temporary, "empty"),
		Entry("half a file", `{"cniVersion":"0.3.1","name":"net","plugins":[{"type":"a"}`, conflist.CodeInvalidJSON, temporary, "unexpected end"),
		Entry("a block of zeros", strings.Repeat("\x00", 512), conflist.CodeInvalidJSON, temporary, "not valid JSON"),
		Entry("a comment inside", "{\n// the pod network\n\"name\":\"net\"}", conflist.CodeInvalidJSON, temporary, "not valid JSON"),
		Entry("a trailing comma", list(`[{"type":"a"},]`), conflist.CodeInvalidJSON, temporary, "not valid JSON"),
		Entry("nesting deeper than libcni accepts", list(`[{"type":"a","x":`+strings.Repeat("[", 20000)+strings.Repeat("]", 20000)+`}]`), conflist.CodeInvalidJSON, temporary, "depth"),
		Entry("UTF-16", "\xff\xfe{\x00}\x00", conflist.CodeInvalidJSON, temporary, "not valid JSON"),
		Entry("a byte order mark", "\xef\xbb\xbf"+list(`[{"type":"a"}]`), conflist.CodeBOM, false, "byte order mark"),
		Entry("a byte behind the brace", list(`[{"type":"a"}]`)+"}", conflist.CodeTrailingBytes, false, "behind"),
		Entry("a second document", list(`[{"type":"a"}]`)+"\n"+list(`[{"type":"a"}]`), conflist.CodeTrailingBytes, false, "behind"),
		Entry("a comment behind", "\n"+list(`[{"type":"a"}]`)+" # ours", conflist.CodeTrailingBytes, false, "behind"),
		Entry("zeros behind", list(`[{"type":"a"}]`)+"\n\x00\x00", conflist.CodeTrailingBytes, false, "behind"),
		Entry("an array", `[]`, conflist.CodeNotObject, false, "no JSON object"),
		Entry("null", `null`, conflist.CodeNotObject, false, "no JSON object"),
		Entry("a string", `"{}"`, conflist.CodeNotObject, false, "no JSON object"),
		Entry("the configuration of one plugin", `{"cniVersion":"0.3.1","name":"net","type":"bridge"}`, conflist.CodeNotList, false, ".conflist"),
	)

	DescribeTable("plugins", refused,
		Entry("none", `{"cniVersion":"0.3.1","name":"net"}`, conflist.CodeNoPlugins, false, "no plugins"),
		Entry("an empty array", list(`[]`), conflist.CodeNoPlugins, false, "no plugins"),
		Entry("null", list(`null`), conflist.CodeInvalidPlugins, false, "no array"),
		Entry("an object", list(`{"type":"a"}`), conflist.CodeInvalidPlugins, false, "no array"),
		Entry("a string", list(`"[{}]"`), conflist.CodeInvalidPlugins, false, "no array"),
		Entry("with a null", list(`[{"type":"a"},null]`), conflist.CodeInvalidPlugins, false, "plugins[1]"),
		Entry("with a string", list(`["a"]`), conflist.CodeInvalidPlugins, false, "plugins[0]"),
		Entry("with an array", list(`[{"type":"a"},[{"type":"b"}]]`), conflist.CodeInvalidPlugins, false, "plugins[1]"),
		Entry("with an object without type", list(`[{"type":"a"},{"typ":"b"}]`), conflist.CodeUnreadable, false, "plugins[1]: it has no type"),
		Entry("with a type that is no string", list(`[{"type":7}]`), conflist.CodeUnreadable, false, `"type"`),
		Entry("with capabilities that libcni cannot decode", list(`[{"type":"a","capabilities":{"x":"yes"}}]`), conflist.CodeUnreadable, false, "capabilities"),
		Entry("with a number out of range", list(`[{"type":"a","x":1e999}]`), conflist.CodeUnreadable, false, "a number cannot be decoded"),
		Entry("ours alone", list(`[`+ours+`]`), conflist.CodeAlone, false, "no plugin but"),
		Entry("ours alone, twice", list(`[`+ours+`,`+ours+`]`), conflist.CodeAlone, false, "no plugin but"),
	)

	DescribeTable("keys", refused,
		Entry("plugins twice", `{"cniVersion":"0.3.1","name":"n","plugins":[{"type":"a"}],"plugins":[{"type":"b"}]}`, conflist.CodeDuplicateKey, false, `"plugins"`),
		Entry("plugins twice, once escaped", `{"cniVersion":"0.3.1","name":"n","plugins":[{"type":"a"}],"plug\u0069ns":[{"type":"b"}]}`, conflist.CodeDuplicateKey, false, `"plugins"`),
		Entry("Plugins beside plugins", `{"cniVersion":"0.3.1","name":"n","plugins":[{"type":"a"}],"Plugins":[{"type":"b"}]}`, conflist.CodeAmbiguousKey, false, `"Plugins"`),
		Entry("Plugins instead of plugins", `{"cniVersion":"0.3.1","name":"n","Plugins":[{"type":"a"}]}`, conflist.CodeAmbiguousKey, false, `"Plugins"`),
		Entry("plugins with a long s, which folds to s", `{"cniVersion":"0.3.1","name":"n","plugins":[{"type":"a"}],"plugin\u017f":[]}`, conflist.CodeAmbiguousKey, false, "case"),
		Entry("name twice", `{"cniVersion":"0.3.1","name":"n","name":"m","plugins":[{"type":"a"}]}`, conflist.CodeDuplicateKey, false, `"name"`),
		Entry("CNIVersion beside cniVersion", `{"cniVersion":"0.3.1","CNIVersion":"1.0.0","name":"n","plugins":[{"type":"a"}]}`, conflist.CodeAmbiguousKey, false, `"CNIVersion"`),
		Entry("an unknown key twice", `{"x":1,"cniVersion":"0.3.1","name":"n","plugins":[{"type":"a"}],"x":1}`, conflist.CodeDuplicateKey, false, `"x"`),
		Entry("a key of a plugin twice", list(`[{"type":"a","mtu":1,"mtu":2}]`), conflist.CodeDuplicateKey, false, `"mtu"`),
		Entry("a type twice", list(`[{"type":"a","type":"a"}]`), conflist.CodeDuplicateKey, false, `"type"`),
		Entry("two types", list(`[{"type":"a"},{"type":"b","type":"result-enricher"}]`), conflist.CodeAmbiguousKey, false, "plugins[1]"),
		Entry("two types, spelled in two cases", list(`[{"type":"a","Type":"b"}]`), conflist.CodeAmbiguousKey, false, "plugins[0]"),
		Entry("a key of a nested object twice", list(`[{"type":"a","ipam":{"r":[{"k":1},{"k":1,"\u006b":2}]}}]`), conflist.CodeDuplicateKey, false, `"k"`),
		Entry("no name", `{"cniVersion":"0.3.1","plugins":[{"type":"a"}]}`, conflist.CodeUnreadable, false, "no name"),
		Entry("a name that is no string", `{"cniVersion":"0.3.1","name":1,"plugins":[{"type":"a"}]}`, conflist.CodeUnreadable, false, "name is no string"),
		Entry("disableCheck that is no flag", `{"cniVersion":"0.3.1","name":"n","disableCheck":"maybe","plugins":[{"type":"a"}]}`, conflist.CodeUnreadable, false, "disableCheck"),
		Entry("disableGC null", `{"cniVersion":"0.3.1","name":"n","disableGC":null,"plugins":[{"type":"a"}]}`, conflist.CodeUnreadable, false, "disableGC"),
		Entry("loadOnlyInlinedPlugins as a number", `{"cniVersion":"0.3.1","name":"n","loadOnlyInlinedPlugins":1,"plugins":[{"type":"a"}]}`, conflist.CodeUnreadable, false, "loadOnlyInlinedPlugins"),
	)

	versions := func(members string) string {
		return `{` + members + `"name":"net","plugins":[{"type":"a"},` + ours + `]}`
	}
	DescribeTable("versions, the entry being there or not", refused,
		Entry("none", versions(``), conflist.CodeNoVersion, false, "no cniVersion"),
		Entry("empty", versions(`"cniVersion":"",`), conflist.CodeNoVersion, false, "no cniVersion"),
		Entry("an empty cniVersions", versions(`"cniVersions":[],`), conflist.CodeNoVersion, false, "no cniVersion"),
		Entry("0.2.0", versions(`"cniVersion":"0.2.0",`), conflist.CodeOldVersion, false, "below 0.3.0"),
		Entry("the highest of cniVersions is 0.2.0", versions(`"cniVersion":"0.1.0","cniVersions":["0.2.0"],`), conflist.CodeOldVersion, false, "below 0.3.0"),
		Entry("not a version", versions(`"cniVersion":"latest",`), conflist.CodeInvalidVersion, false, "no version like"),
		Entry("one nobody knows yet", versions(`"cniVersion":"1.2.0",`), conflist.CodeUnsupportedVersion, false, `"1.2.0"`),
		Entry("the highest of cniVersions is one nobody knows yet", versions(`"cniVersion":"1.0.0","cniVersions":["1.1.0","9.0.0","0.4.0"],`), conflist.CodeUnsupportedVersion, false, `"9.0.0"`),
		Entry("cniVersion is above all cniVersions", versions(`"cniVersion":"9.0.0","cniVersions":["1.0.0"],`), conflist.CodeUnsupportedVersion, false, `"9.0.0"`),
		Entry("1.0, which no plugin lists", versions(`"cniVersion":"1.0",`), conflist.CodeUnsupportedVersion, false, `"1.0"`),
		Entry("1.0 beside 1.0.0", versions(`"cniVersion":"1.0","cniVersions":["1.0.0"],`), conflist.CodeUnsupportedVersion, false, `"1.0"`),
		Entry("a number", versions(`"cniVersion":1.0,`), conflist.CodeUnreadable, false, "cniVersion is no string"),
		Entry("cniVersions a string", versions(`"cniVersions":"1.0.0",`), conflist.CodeUnreadable, false, "cniVersions are no array"),
		Entry("cniVersions with a number", versions(`"cniVersions":["1.0.0",1],`), conflist.CodeUnreadable, false, "cniVersions[1]"),
		Entry("a cniVersion of four parts", versions(`"cniVersion":"1.0.0.0",`), conflist.CodeInvalidVersion, false, "no version like"),
		Entry("a cniVersion beside cniVersions that is none", versions(`"cniVersion":"v1","cniVersions":["1.0.0"],`), conflist.CodeUnreadable, false, "its cniVersion is no version"),
		Entry("cniVersions with no version", versions(`"cniVersions":["v1"],`), conflist.CodeUnreadable, false, "cniVersions[0]"),
	)

	DescribeTable("no version the plugin knows",
		func(members string) {
			_, err := conflist.Ensure([]byte(versions(members)), []byte(ours), supported)
			Expect(err).NotTo(HaveOccurred())
		},
		Entry("0.3.0", `"cniVersion":"0.3.0",`),
		Entry("1.1.0", `"cniVersion":"1.1.0",`),
		Entry("only cniVersions", `"cniVersions":["0.4.0","1.0.0"],`),
		Entry("an old one beside newer cniVersions", `"cniVersion":"0.2.0","cniVersions":["1.0.0"],`),
	)

	It("a version that this plugin does not support, by its own list", func() {
		_, err := conflist.Ensure([]byte(`{"cniVersion":"1.1.0","name":"n","plugins":[{"type":"a"}]}`), []byte(ours), []string{"0.4.0", "1.0.0"})
		Expect(code(err)).To(Equal(conflist.CodeUnsupportedVersion))
		Expect(err.Error()).To(ContainSubstring("0.4.0, 1.0.0"))
	})

	It("without saying what values are in the file", func() {
		for _, data := range []string{
			list(`[{"type":"a","capabilities":"s3cret"}]`),
			list(`[{"type":"a","capabilities":31337e999}]`),
			`{"cniVersion":"0.3.1","name":"n","disableGC":"s3cret","plugins":[{"type":"a"}]}`,
		} {
			_, err := conflist.Ensure([]byte(data), []byte(ours), supported)
			Expect(code(err)).To(Equal(conflist.CodeUnreadable))
			Expect(err.Error()).NotTo(Or(ContainSubstring("s3cret"), ContainSubstring("31337")))
		}
	})
})
