// SPDX-License-Identifier: Apache-2.0

package explanation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/result-enricher/result-enricher/enrich"
	"github.com/result-enricher/result-enricher/enrich/consumer"
	"github.com/result-enricher/result-enricher/enrichctl/internal/screen"
)

// Render writes the explanation for a person.
func (e *Explanation) Render(s *screen.Screen) {
	e.renderHead(s)
	s.Line(screen.Plain, "")
	e.renderResult(s)
	s.Line(screen.Plain, "")
	e.renderRepairs(s)
	s.Line(screen.Plain, "")
	e.renderConsumers(s)
}

func (e *Explanation) renderHead(s *screen.Screen) {
	head := fmt.Sprintf("%s of %s, CNI %s", e.IfName, e.ContainerID, e.CNIVersion)
	if e.Network != "" {
		head += ", network " + e.Network
	}
	s.Paragraph(screen.Heading, 0, screen.Safe(head))
	if e.Link == nil {
		s.Paragraph(screen.Bad, 2, screen.Safe(fmt.Sprintf("! %s has no link of that name", e.Netns)))
		return
	}
	text := fmt.Sprintf("%s %s, mtu %d, in %s", e.Link.Kind, orNone(e.Link.MAC), e.Link.MTU, e.Netns)
	if e.Link.HostDevice != "" {
		text += ", host device " + e.Link.HostDevice
	}
	s.Paragraph(screen.Plain, 2, screen.Safe(text))
	text = fmt.Sprintf("addresses %s; gateways %s", join(e.Link.Addresses), join(e.Link.Gateways))
	s.Paragraph(screen.Plain, 2, text)
}

// renderResult writes the answer with marks against what was given.
func (e *Explanation) renderResult(s *screen.Screen) {
	const indent = 4
	before := layout(e.Before, screen.Width-indent)
	switch {
	case e.Failure != nil:
		s.Line(screen.Heading, "Result before")
		for _, line := range before {
			s.Line(screen.Plain, strings.Repeat(" ", indent)+line)
		}
		s.Line(screen.Heading, "ADD fails")
		s.Paragraph(screen.Bad, indent, screen.Safe(fmt.Sprintf("code %d: %s: %s", e.Failure.Code, e.Failure.Msg, e.Failure.Details)))
		return
	case slices.Equal(before, layout(e.After, screen.Width-indent)):
		s.Line(screen.Heading, "Result, before and after")
	default:
		s.Line(screen.Heading, "Result, - before, + after")
	}
	styles := map[byte]screen.Style{' ': screen.Plain, '-': screen.Bad, '+': screen.Good}
	for _, c := range compare(before, layout(e.After, screen.Width-indent)) {
		s.Line(styles[c.Mark], fmt.Sprintf("  %c %s", c.Mark, c.Text))
	}
}

func (e *Explanation) renderRepairs(s *screen.Screen) {
	if len(e.Repairs) == 0 && e.LeftAlone == "" && e.Failure == nil {
		s.Line(screen.Heading, "Nothing to repair")
		return
	}
	s.Line(screen.Heading, "Repairs")
	for i, r := range e.Repairs {
		head := fmt.Sprintf("%s  %s  %s", r.Rule, r.Path, transition(r))
		for n, line := range screen.Wrap(screen.Safe(head), screen.Width-6) {
			s.Line(screen.Plain, strings.Repeat(" ", 2+4*min(n, 1))+line)
		}
		// A reason is said once for all that follow each other with it.
		if i+1 == len(e.Repairs) || e.Repairs[i+1].Reason != r.Reason {
			s.Paragraph(screen.Faint, 6, screen.Safe(r.Reason))
		}
	}
	if e.LeftAlone != "" {
		s.Paragraph(screen.Plain, 2, "left alone: "+screen.Safe(e.LeftAlone))
	} else if len(e.Repairs) == 0 {
		s.Line(screen.Plain, "  none")
	}
}

// transition is the change of one value. The entry that R6 appends is in the
// Result above.
func transition(r enrich.Repair) string {
	if r.Rule == "R6" {
		return "appended"
	}
	return value(r.Old) + " -> " + value(r.New)
}

func value(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(raw)
}

func (e *Explanation) renderConsumers(s *screen.Screen) {
	widths := []int{13, 33, 34}
	s.Row("Consumers", widths, []screen.Cell{{Style: screen.Heading, Text: "before"}}, []screen.Cell{{Style: screen.Heading, Text: "after"}})
	byReading := false
	for _, v := range e.Consumers {
		after := []screen.Cell{{Style: screen.Bad, Text: "! gets no Result: ADD fails"}}
		if v.After != nil {
			after = cells(*v.After, e.IfName)
		}
		label := v.Consumer
		if v.Before.ByReading {
			label, byReading = label+" *", true
		}
		s.Row(label, widths, cells(v.Before, e.IfName), after)
	}
	if byReading {
		s.Line(screen.Faint, "* known by reading its code, not by a test")
	}
	s.Paragraph(screen.Heading, 0, e.verdict())
}

// verdict counts what is wrong before and after.
func (e *Explanation) verdict() string {
	before, after := 0, 0
	for _, v := range e.Consumers {
		before += wrong(v.Before)
		if v.After != nil {
			after += wrong(*v.After)
		}
	}
	if e.Failure != nil {
		return fmt.Sprintf("Faults of the consumers: %d without the plugin; with it the pod does not start.", before)
	}
	return fmt.Sprintf("Faults of the consumers: %d before, %d after.", before, after)
}

// wrong counts a failure as one, but not that a chain describes no machine.
func wrong(p consumer.Prediction) int {
	if p.Outcome != consumer.OutcomeGood && !noMachine(p) {
		return 1
	}
	return len(p.Faults)
}

func noMachine(p consumer.Prediction) bool { return p.Error == consumer.ErrNoMachine.Error() }

func orNone(text string) string {
	if text == "" {
		return "without a mac"
	}
	return text
}

func join[T fmt.Stringer](values []T) string {
	if len(values) == 0 {
		return "none"
	}
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = v.String()
	}
	return strings.Join(texts, ", ")
}
