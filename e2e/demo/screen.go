// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// columns is the width that everything is laid out for.
const columns = 80

// screen writes for a person at a terminal. What fails to be written cannot be reported anywhere, so it is not.
type screen struct {
	out    io.Writer
	colour bool
}

// newScreen uses colour on a terminal only, and not when NO_COLOR is set (https://no-color.org).
func newScreen(out *os.File, getenv func(string) string) *screen {
	_, err := unix.IoctlGetTermios(int(out.Fd()), unix.TCGETS)
	return &screen{out: out, colour: err == nil && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"}
}

const (
	bold  = "1"
	red   = "31"
	green = "32"
)

func (s *screen) paint(code, text string) string {
	if !s.colour {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s *screen) line(format string, args ...any) {
	fmt.Fprintf(s.out, format+"\n", args...)
}

func (s *screen) title(text string) {
	s.line("%s\n", s.paint(bold, text))
}

func (s *screen) heading(text string) {
	s.line("\n%s\n", s.paint(bold, text))
}

// text is a paragraph.
func (s *screen) text(text string) {
	for _, l := range wrap(text, columns) {
		s.line("%s", l)
	}
}

// document is a JSON document.
func (s *screen) document(raw []byte) {
	for _, l := range layout(raw, columns-4) {
		s.line("    %s", l)
	}
	s.line("")
}

// difference is the second JSON document with the lines marked that are not in the first.
func (s *screen) difference(before, after []byte) {
	for _, l := range compare(layout(before, columns-4), layout(after, columns-4)) {
		marked := strings.TrimRight("  "+string(l.Mark)+" "+l.Text, " ")
		switch l.Mark {
		case '+':
			marked = s.paint(green, marked)
		case '-':
			marked = s.paint(red, marked)
		}
		s.line("%s", marked)
	}
}

// repair is one of the plugin's repairs: where, why, and the value before and after.
func (s *screen) repair(r repair) {
	for i, l := range wrap(fmt.Sprintf("%s: %s", r.Path, r.Reason), columns-8) {
		rule := "  "
		if i == 0 {
			rule = r.Rule
		}
		s.line("    %s  %s", rule, l)
	}
	s.value(red, '-', r.Old)
	s.value(green, '+', r.New)
}

// value is one side of a repair; null is nothing to show.
func (s *screen) value(colour string, mark byte, raw []byte) {
	if len(raw) == 0 || string(raw) == "null" {
		return
	}
	for _, l := range layout(raw, columns-10) {
		s.line("%s", s.paint(colour, "        "+string(mark)+" "+l))
	}
}

func (s *screen) fact(f fact) {
	if f.err == nil {
		s.line("    %s  %s", s.paint(green, "yes"), f.claim)
		return
	}
	s.line("    %s   %s: %v", s.paint(red, "NO"), f.claim, f.err)
}
