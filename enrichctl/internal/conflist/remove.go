// SPDX-License-Identifier: Apache-2.0

package conflist

import "errors"

// Remove takes every entry of our type out of a conflist: from the end of the element before it to its own end, which
// gives back what Ensure was given byte for byte. n is the number of entries removed; when it is 0, out is data itself.
//
// It is lenient, since a damaged list is no reason to keep an entry in it: versions, names and keys that are there twice
// do not matter where they leave no doubt about the entry. In a file that is no conflist, a multus configuration with a
// copy of the list included, it finds nothing (Mentions does).
//
// The error is a *Refusal: the bytes are no JSON document, or the entry is the only plugin or cannot be told apart.
// Then data is to be left alone.
func Remove(data []byte) (out []byte, n int, err error) {
	if err := wellFormed(data); err != nil {
		return nothingFound(data, err)
	}
	doc, err := parse(data)
	if err != nil {
		return nothingFound(data, err)
	}
	for i, e := range doc.elements {
		if e.ambiguous && Mentions(e.bytes(data)) {
			return nil, 0, refuse(CodeAmbiguousKey, "plugins[%d] has two types, one of them ours; remove one", i)
		}
	}
	own := doc.own()
	switch {
	case len(own) == 0:
		return data, 0, nil
	case len(own) == len(doc.elements):
		return nil, 0, errAlone()
	}
	out = doc.apply(doc.cuts(element.own))
	after, err := parse(out)
	if err != nil || len(after.own()) > 0 || !sameOthers(doc, after) {
		return nil, 0, errCheck()
	}
	return out, len(own), nil
}

// nothingFound drops the reason why bytes are not understood when they do not name our plugin at all. A temporary one
// stays: the rest of the file may follow.
func nothingFound(data []byte, err error) ([]byte, int, error) {
	var refusal *Refusal
	if errors.As(err, &refusal) && !refusal.Temporary && !Mentions(data) {
		return data, 0, nil
	}
	return nil, 0, err
}
