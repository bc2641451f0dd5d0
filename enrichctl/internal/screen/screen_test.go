// SPDX-License-Identifier: Apache-2.0

package screen_test

import (
	"bytes"
	"errors"
	"os"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"

	"github.com/result-enricher/result-enricher/enrichctl/internal/screen"
)

func none(string) string { return "" }

var _ = DescribeTable("escapes", func(text, want string) {
	Expect(screen.Safe(text)).To(Equal(want))
},
	Entry("nothing in a usual name", "cali0123 ä 語", "cali0123 ä 語"),
	Entry("an escape sequence", "\x1b[2Jeth0", `\u001b[2Jeth0`),
	Entry("the one-byte form of it", "\u009b2J", `\u009b2J`),
	Entry("line breaks and tabs", "a\nb\r\tc", `a\u000ab\u000d\u0009c`),
	Entry("delete", "a\x7f", `a\u007f`),
	Entry("what turns the direction", "a\u202eb", `a\u202eb`),
	Entry("an invisible character of a higher plane", "\U000e0041", `\udb40\udc41`),
	Entry("bytes that are no UTF-8", "a\xffb", `a\xffb`),
	Entry("but not the replacement character", "a\uFFFD", "a\uFFFD"),
)

var _ = DescribeTable("breaks", func(text string, want ...string) {
	Expect(screen.Wrap(text, 10)).To(Equal(want))
},
	Entry("nothing that fits", "one two", "one two"),
	Entry("between words", "one two three four", "one two", "three four"),
	Entry("a word that is too long", "fd00:0:0:1::140", "fd00:0:0:1", "::140"),
	Entry("no text", "", ""),
)

var _ = Describe("a screen", func() {
	It("writes columns side by side and no blank at the end of a line", func() {
		var out bytes.Buffer
		s := screen.New(&out, none)
		s.Row("label", []int{8, 14, 12},
			[]screen.Cell{{Text: "a b"}, {Style: screen.Bad, Text: "one two three"}},
			[]screen.Cell{{Text: "c"}})
		Expect(out.String()).To(Equal("label   a b           c\n        one two\n          three\n"))
	})

	It("keeps colour out of what is no terminal", func() {
		var out bytes.Buffer
		screen.New(&out, none).Line(screen.Bad, "x")
		Expect(out.String()).To(Equal("x\n"))
	})

	DescribeTable("on a terminal", func(name, value, want string) {
		terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
		Expect(err).NotTo(HaveOccurred())
		shown := gbytes.BufferReader(terminal)
		s := screen.New(terminal, func(key string) string {
			if key == name {
				return value
			}
			return ""
		})
		s.Line(screen.Bad, "x")
		Expect(s.Err()).NotTo(HaveOccurred())
		// What is written to the master is echoed to it.
		Eventually(shown).Should(gbytes.Say("x"))
		Expect(strings.Contains(string(shown.Contents()), "[31m")).To(Equal(want == "colour"), string(shown.Contents()))
		Expect(terminal.Close()).To(Succeed())
	},
		Entry("uses colour", "TERM", "xterm", "colour"),
		Entry("that is dumb does not", "TERM", "dumb", "plain"),
		Entry("with NO_COLOR does not", "NO_COLOR", "1", "plain"),
	)

	It("tells what a write has said", func() {
		s := screen.New(broken{}, none)
		s.Line(screen.Plain, "x")
		s.Line(screen.Plain, "y")
		Expect(s.Err()).To(MatchError(errFull))
	})
})

var errFull = errors.New("no space left")

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errFull }
