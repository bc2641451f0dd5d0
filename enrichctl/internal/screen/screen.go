// SPDX-License-Identifier: Apache-2.0

// Package screen writes text for a person at a terminal of 80 columns: escaped,
// wrapped, in columns, and in colour where that is wanted.
//
// It touches the writer it is given and nothing else. The convention it relies on:
// every text that came from a Result, from the kernel or from a file goes through
// [Safe] before it is written, since an interface may have almost any name.
package screen

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// Width is what a screen is wide.
const Width = 80

// Style is a colour with a meaning. None of them is the only sign of it.
type Style string

// The styles, as parameters of the terminal's escape sequence.
const (
	Plain   Style = ""
	Heading Style = "1"
	Faint   Style = "2"
	Bad     Style = "31"
	Good    Style = "32"
)

// Screen writes to a terminal or to something else.
type Screen struct {
	out    io.Writer
	colour bool
	err    error
}

// New gives a screen that uses colour when out is a terminal, unless NO_COLOR is
// set (https://no-color.org) or the terminal is dumb.
func New(out io.Writer, getenv func(string) string) *Screen {
	file, isFile := out.(*os.File)
	colour := isFile && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
	if colour {
		_, err := unix.IoctlGetTermios(int(file.Fd()), unix.TCGETS)
		colour = err == nil
	}
	return &Screen{out: out, colour: colour}
}

// Err is the first error of a write.
func (s *Screen) Err() error {
	if s.err != nil {
		return fmt.Errorf("write output: %w", s.err)
	}
	return nil
}

// Line writes one line.
func (s *Screen) Line(style Style, text string) {
	s.write(s.dye(style, text) + "\n")
}

// Paragraph writes text that is broken between words, with an indent.
func (s *Screen) Paragraph(style Style, indent int, text string) {
	for _, line := range Wrap(text, Width-indent) {
		s.Line(style, strings.Repeat(" ", indent)+line)
	}
}

// Cell is a line of a column.
type Cell struct {
	Style Style
	Text  string
}

// Row writes a label and columns beside each other. Texts are broken to the
// widths, which include the gap behind, and what follows in a cell is indented.
func (s *Screen) Row(label string, widths []int, columns ...[]Cell) {
	broken := [][]Cell{{{Heading, label}}}
	height := 1
	for i, cells := range columns {
		var lines []Cell
		for _, c := range cells {
			for n, line := range Wrap(c.Text, widths[i+1]-4) {
				if n > 0 {
					line = "  " + line
				}
				lines = append(lines, Cell{c.Style, line})
			}
		}
		broken = append(broken, lines)
		height = max(height, len(lines))
	}
	for n := range height {
		var line strings.Builder
		gap := 0
		for i, lines := range broken {
			var c Cell
			if n < len(lines) {
				c = lines[n]
			}
			if c.Text != "" {
				line.WriteString(strings.Repeat(" ", gap) + s.dye(c.Style, c.Text))
				gap = 0
			}
			gap += widths[i] - utf8.RuneCountInString(c.Text)
		}
		s.write(line.String() + "\n")
	}
}

func (s *Screen) dye(style Style, text string) string {
	if !s.colour || style == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(style) + "m" + text + "\x1b[0m"
}

func (s *Screen) write(text string) {
	if s.err == nil {
		_, s.err = io.WriteString(s.out, text)
	}
}

// Safe makes visible what a terminal would obey, or would not show: control
// characters, line breaks, invisible and direction-changing ones, bytes that are
// no UTF-8. In JSON the result is still the same document.
func Safe(text string) string {
	var safe strings.Builder
	for i, r := range text {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD"):
			fmt.Fprintf(&safe, `\x%02x`, text[i])
		case strconv.IsPrint(r):
			safe.WriteRune(r)
		case r > 0xffff:
			high, low := surrogates(r)
			fmt.Fprintf(&safe, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&safe, `\u%04x`, r)
		}
	}
	return safe.String()
}

// surrogates is how JSON escapes what does not fit four digits.
func surrogates(r rune) (high, low rune) {
	r -= 0x10000
	return 0xd800 + r>>10, 0xdc00 + r&0x3ff
}

// Wrap breaks text between words, and words that are longer than width.
func Wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
		for utf8.RuneCountInString(line) > width {
			runes := []rune(line)
			lines, line = append(lines, string(runes[:width])), string(runes[width:])
		}
	}
	return append(lines, line)
}
