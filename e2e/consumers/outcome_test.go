// SPDX-License-Identifier: Apache-2.0

package consumers

import (
	"fmt"
	"slices"

	"github.com/containernetworking/cni/pkg/types"
)

// outcome is what a consumer made of a Result: a value, an error or a panic.
type outcome[T any] struct {
	value    T
	err      error
	panicked any
}

// consume runs f, which may panic.
func consume[T any](f func() (T, error)) (o outcome[T]) {
	defer func() { o.panicked = recover() }()
	o.value, o.err = f()
	return o
}

// worse compares the outcome without result-enricher with that with it: no new panic, no new error, and nothing that
// compare has to say about the values. It gives one clause per complaint.
func worse[T any](before, after outcome[T], compare func(before, after T) []string) []string {
	switch {
	case before.panicked != nil:
		if after.panicked != nil {
			return []string{fmt.Sprintf("panics still: %v", after.panicked)}
		}
		return nil
	case after.panicked != nil:
		return []string{fmt.Sprintf("panics now: %v", after.panicked)}
	case before.err != nil:
		return nil
	case after.err != nil:
		return []string{fmt.Sprintf("fails now: %v", after.err)}
	default:
		return compare(before.value, after.value)
	}
}

// complaints collects what is worse.
type complaints []string

func (c *complaints) unless(holds bool, format string, args ...any) {
	if !holds {
		*c = append(*c, fmt.Sprintf(format, args...))
	}
}

// counts tells how often each element occurs.
func counts(list []string) map[string]int {
	n := map[string]int{}
	for _, element := range list {
		n[element]++
	}
	return n
}

// inOrder tells whether all has the elements of some, in their order, with others between them or not.
func inOrder(some, all []string) bool {
	for _, element := range all {
		if len(some) > 0 && some[0] == element {
			some = some[1:]
		}
	}
	return len(some) == 0
}

// routes drops null entries, which mean nothing and which result-enricher removes.
func routes(list []*types.Route) []string {
	texts := []string{}
	for _, route := range slices.DeleteFunc(slices.Clone(list), func(r *types.Route) bool { return r == nil }) {
		texts = append(texts, route.String())
	}
	return texts
}
