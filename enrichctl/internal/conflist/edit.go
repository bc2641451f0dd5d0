// SPDX-License-Identifier: Apache-2.0

package conflist

import "slices"

// edit puts other bytes in the place of data[start:end].
type edit struct {
	start, end int
	with       []byte
}

// apply makes edits, which are in ascending order and do not overlap, on a copy. Without edits it gives the document's
// bytes themselves.
func (d *document) apply(edits []edit) []byte {
	if len(edits) == 0 {
		return d.data
	}
	size := len(d.data)
	for _, e := range edits {
		size += len(e.with) - (e.end - e.start)
	}
	out := make([]byte, 0, size)
	at := 0
	for _, e := range edits {
		out = append(out, d.data[at:e.start]...)
		out = append(out, e.with...)
		at = e.end
	}
	return append(out, d.data[at:]...)
}

// insert puts an element at position i > 0, right behind the element before it, so that cuts takes out what insert
// put in. The separator is a copy of the bytes between the neighbours, or of those between the last two.
func (d *document) insert(i int, element []byte) edit {
	var separator []byte
	switch {
	case i < len(d.elements):
		separator = d.data[d.elements[i-1].end:d.elements[i].start]
	case i > 1:
		separator = d.data[d.elements[i-2].end:d.elements[i-1].start]
	default: // there is one element: the white space in front of it tells how elements are laid out
		separator = append([]byte{','}, d.data[d.open:d.elements[0].start]...)
	}
	at := d.elements[i-1].end
	with := make([]byte, 0, len(separator)+len(element))
	with = append(with, separator...)
	with = append(with, element...)
	return edit{at, at, with}
}

// cuts takes out the elements that drop chooses, which are not all: each from the end of the one before it, and those at
// the start up to the first one that stays, which moves to their place.
func (d *document) cuts(drop func(element) bool) []edit {
	var edits []edit
	first := slices.IndexFunc(d.elements, func(e element) bool { return !drop(e) })
	if first > 0 {
		edits = append(edits, edit{start: d.elements[0].start, end: d.elements[first].start})
	}
	for i := first + 1; i < len(d.elements); i++ {
		if drop(d.elements[i]) {
			edits = append(edits, edit{start: d.elements[i-1].end, end: d.elements[i].end})
		}
	}
	return edits
}
