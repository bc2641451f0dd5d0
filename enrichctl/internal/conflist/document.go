// SPDX-License-Identifier: Apache-2.0

package conflist

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"
)

// document is where things are in the bytes of a conflist. Offsets count bytes from the start of the file.
type document struct {
	data     []byte
	isList   bool // a plugins key is there; else the object is one plugin's configuration, or something else
	single   element
	open     int // offset behind the "[" of plugins
	elements []element
}

// element is one element of the plugins array: the bytes data[start:end].
type element struct {
	start, end int
	isObject   bool
	pluginType string // as libcni reads it; "" when there is none or it is no string
	hasType    bool
	ambiguous  bool // its type is there twice, perhaps spelled differently, with different values
}

func (e element) own() bool { return e.isObject && e.pluginType == PluginType }

func (e element) bytes(data []byte) []byte { return data[e.start:e.end] }

// wellFormed refuses what is no single JSON document. Only what a half-finished write looks like is temporary.
func wellFormed(data []byte) error {
	if bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) {
		return refuse(CodeBOM, "the file starts with a byte order mark, which no container runtime accepts; save it as UTF-8 without BOM")
	}
	if len(bytes.TrimLeft(data, " \t\r\n")) == 0 {
		return refuseForNow(CodeEmpty, "the file is empty; its owner may be about to write it, so wait or start its owner again")
	}
	// Not json.Valid: the error says where. Decoding a RawMessage checks the syntax and the depth, and copies.
	var first json.RawMessage
	err := json.Unmarshal(data, &first)
	if err == nil {
		return nil
	}
	if json.NewDecoder(bytes.NewReader(data)).Decode(&first) == nil && bytes.HasPrefix(first, []byte("{")) {
		return refuse(CodeTrailingBytes, "something follows the closing brace of the configuration; remove what is behind it")
	}
	return refuseForNow(CodeInvalidJSON, "the file is not valid JSON (%v); its owner may be writing it, so wait, or correct it", err)
}

// parse finds the plugins of a well-formed document. It refuses only where it cannot say which bytes are the plugins
// array; that the elements make sense is for the callers.
func parse(data []byte) (*document, error) {
	root := gjson.ParseBytes(data)
	if !root.IsObject() {
		return nil, refuse(CodeNotObject, "the configuration is no JSON object; write one with name, cniVersion and plugins")
	}
	doc := &document{data: data}
	var plugins gjson.Result
	var err error
	root.ForEach(func(key, value gjson.Result) bool {
		name := unquote(key.Raw)
		switch {
		case name == "plugins" && doc.isList:
			err = refuse(CodeDuplicateKey, "the key %q is there twice; remove one", name)
		case name == "plugins":
			doc.isList, plugins = true, value
		case strings.EqualFold(name, "plugins"):
			err = refuseSpelling(name, "plugins")
		}
		return err == nil
	})
	switch {
	case err != nil:
		return nil, err
	case !doc.isList:
		doc.single = newElement(root)
		return doc, nil
	case !plugins.IsArray():
		return nil, refuse(CodeInvalidPlugins, "plugins is no array; write the plugins as a list of objects")
	}
	doc.open = plugins.Index + 1
	plugins.ForEach(func(_, value gjson.Result) bool {
		doc.elements = append(doc.elements, newElement(value))
		return true
	})
	return doc, nil
}

func newElement(value gjson.Result) element {
	e := element{start: value.Index, end: value.Index + len(value.Raw), isObject: value.IsObject()}
	if !e.isObject {
		return e
	}
	value.ForEach(func(key, value gjson.Result) bool {
		// libcni decodes a plugin into a struct, where encoding/json matches keys without regard to case.
		if !strings.EqualFold(unquote(key.Raw), "type") {
			return true
		}
		var typ string
		if value.Type == gjson.String {
			typ = unquote(value.Raw)
		}
		e.ambiguous = e.ambiguous || e.hasType && typ != e.pluginType
		e.hasType, e.pluginType = true, typ
		return true
	})
	return e
}

// own gives the positions of our entries.
func (d *document) own() []int {
	var at []int
	for i, e := range d.elements {
		if e.own() {
			at = append(at, i)
		}
	}
	return at
}

// primary gives the position of the plugin that makes the interface, or len(elements) when all entries are ours.
func (d *document) primary() int {
	types := make([]string, len(d.elements))
	for i, e := range d.elements {
		types[i] = e.pluginType
	}
	return primary(types)
}

// primary gives the first position that is neither ours nor the loopback plugin, which sets up lo alone and which Nomad
// puts first; without one the first that is not ours; without that len(types).
func primary(types []string) int {
	first := len(types)
	for i, t := range types {
		switch {
		case t == PluginType:
		case t != loopbackType:
			return i
		case first == len(types):
			first = i
		}
	}
	return first
}

// unquote gives the value of a JSON string as encoding/json, and so libcni, understands it: escapes resolved, and
// what is no UTF-8 replaced. The literal is part of a valid document.
func unquote(literal string) string {
	var s string
	if json.Unmarshal([]byte(literal), &s) != nil {
		return "" // cannot be: the document was checked
	}
	return s
}

func refuseSpelling(got, want string) error {
	return refuse(CodeAmbiguousKey, "the key %q differs from %q only in its letters' case, and some programs take one for the other; rename or remove it", got, want)
}

// duplicateKey gives a key that one object of a well-formed document has twice, at any depth. Such a document means
// different things to different readers.
func duplicateKey(data []byte) (duplicate string, found bool) {
	type member struct {
		object int
		key    string
	}
	seen := map[member]bool{}
	walk(data, func(object int, key string, _ json.Token) bool {
		m := member{object, key}
		duplicate, found = key, seen[m]
		seen[m] = true
		return !found
	})
	return duplicate, found
}

// walk calls member for every member of every object of a well-formed document, outer before inner, until it returns
// false. object numbers the objects; value is the first token of the member's value. It neither recurses nor reads
// anything twice.
func walk(data []byte, member func(object int, key string, value json.Token) bool) {
	type scope struct {
		object int // 0: an array
		key    string
		inKey  bool // the next token is a key
	}
	var stack []scope
	objects := 0
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber() // no number is out of range
	for {
		tok, err := dec.Token()
		if err != nil {
			return // io.EOF, as the document was checked
		}
		delim, isDelim := tok.(json.Delim)
		if isDelim && (delim == '}' || delim == ']') {
			stack = stack[:len(stack)-1]
			continue
		}
		if len(stack) > 0 && stack[len(stack)-1].object > 0 {
			top := &stack[len(stack)-1]
			top.inKey = !top.inKey
			if !top.inKey {
				top.key, _ = tok.(string) // a key is always a string
				continue
			}
			if !member(top.object, top.key, tok) {
				return
			}
		}
		switch {
		case isDelim && delim == '{':
			objects++
			stack = append(stack, scope{object: objects, inKey: true})
		case isDelim:
			stack = append(stack, scope{})
		}
	}
}
