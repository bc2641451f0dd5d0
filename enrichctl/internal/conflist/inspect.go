// SPDX-License-Identifier: Apache-2.0

package conflist

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"
)

// Info is what a network configuration says, as libcni understands it.
type Info struct {
	Name string
	// CNIVersion is the highest of cniVersion and cniVersions, which libcni uses; "" if there is none. (A libcni that is
	// older than the highest one passes over it and uses the next.)
	CNIVersion  string
	CNIVersions []string // all of them: cniVersions in order, then cniVersion
	Plugins     []string // types, in order
	Own         []int    // positions of the entries of our type
	Entries     [][]byte // the bytes of these entries, as they are in the file

	DisableCheck           bool
	DisableGC              bool
	LoadOnlyInlinedPlugins bool

	// Single: no list but the configuration of one plugin, the format of .conf files. Plugins has its type. Nothing can be
	// inserted or removed, so Own is empty even when the plugin is ours.
	Single bool
}

// Primary gives the type of the first plugin that is not ours, "" if there is none.
func (i *Info) Primary() string {
	for _, t := range i.Plugins {
		if t != PluginType {
			return t
		}
	}
	return ""
}

// InFront reports whether an entry of ours stands before the plugin that makes the interface, where there is no Result
// to repair yet. Ensure moves it.
func (i *Info) InFront() bool { return len(i.Own) > 0 && i.Own[0] < primary(i.Plugins) }

// Inspect reads a conflist, or the configuration of a single plugin. Its error is a *Refusal: libcni would not read the
// file, or different programs read different things in it. What only Ensure minds (versions, being alone, keys twice
// that nobody here reads) is no error here.
func Inspect(data []byte) (*Info, error) {
	doc, err := parseList(data)
	if doc != nil && !doc.isList {
		return inspectSingle(doc)
	}
	if err != nil {
		return nil, err
	}
	n, err := readAsLibcni(data)
	if err != nil {
		return nil, refuseUnreadable(err)
	}
	info := &Info{
		Name: n.name, CNIVersion: n.version, CNIVersions: n.versions, Plugins: n.types, Own: doc.own(),
		DisableCheck: n.noCheck, DisableGC: n.noGC, LoadOnlyInlinedPlugins: n.onlyInlined,
	}
	for _, i := range info.Own {
		info.Entries = append(info.Entries, bytes.Clone(doc.elements[i].bytes(data)))
	}
	return info, nil
}

func inspectSingle(doc *document) (*Info, error) {
	switch {
	case !doc.single.hasType:
		return nil, errNoPlugins()
	case doc.single.ambiguous:
		return nil, refuse(CodeAmbiguousKey, "the configuration has two types; remove one")
	}
	var raw any
	if err := json.Unmarshal(doc.data, &raw); err != nil {
		return nil, refuseUnreadable(decodingError(err))
	}
	conf, err := readPlugin(raw)
	if err != nil {
		return nil, refuseUnreadable(err)
	}
	info := &Info{Name: conf.Name, CNIVersion: conf.CNIVersion, Plugins: []string{conf.Type}, Single: true}
	if conf.CNIVersion != "" {
		info.CNIVersions = []string{conf.CNIVersion}
	}
	return info, nil
}

// parseList parses and refuses whatever is no list of plugins that all programs read alike. For JSON objects without a
// plugins key it gives the document beside the error.
func parseList(data []byte) (*document, error) {
	if err := wellFormed(data); err != nil {
		return nil, err
	}
	doc, err := parse(data)
	if err != nil {
		return nil, err
	}
	switch {
	case !doc.isList && doc.single.hasType:
		return doc, refuse(CodeNotList, "this configures a single plugin (the .conf format), to which nothing can be appended; "+
			"make it a .conflist of the same name and cniVersion with this plugin in its plugins")
	case !doc.isList || len(doc.elements) == 0:
		return doc, errNoPlugins()
	}
	if err := checkTopLevelKeys(data); err != nil {
		return nil, err
	}
	for i, e := range doc.elements {
		switch {
		case !e.isObject:
			return nil, refuse(CodeInvalidPlugins, "plugins[%d] is no object; remove it or complete it", i)
		case e.ambiguous:
			return nil, refuse(CodeAmbiguousKey, "plugins[%d] has two types; remove one", i)
		}
	}
	return doc, nil
}

// checkTopLevelKeys refuses keys that some programs read and others do not: libcni decodes a list into a map and minds
// the case of letters, others (multus among them) decode it into structs and do not.
func checkTopLevelKeys(data []byte) error {
	seen := map[string]bool{}
	var err error
	gjson.ParseBytes(data).ForEach(func(key, _ gjson.Result) bool {
		name := unquote(key.Raw)
		for _, known := range []string{"name", "cniVersion", "cniVersions"} {
			if name != known && strings.EqualFold(name, known) {
				err = refuseSpelling(name, known)
			}
			if name == known && seen[name] {
				err = refuse(CodeDuplicateKey, "the key %q is there twice; remove one", name)
			}
		}
		seen[name] = true
		return err == nil
	})
	return err
}

func errNoPlugins() error {
	return refuse(CodeNoPlugins, "the configuration has no plugins; write the primary plugin into its plugins first")
}

func refuseUnreadable(err error) error {
	return refuse(CodeUnreadable, "libcni does not accept the configuration: %v; correct that first", err)
}

// Mentions reports whether bytes name our plugin: for JSON, an object anywhere in it, a copy in a multus configuration
// too, whose type is ours; for other bytes, its name in plain. For as long as one file or cache mentions the plugin, its
// binary is needed.
func Mentions(data []byte) bool {
	if !json.Valid(data) {
		return bytes.Contains(data, []byte(PluginType))
	}
	found := false
	walk(data, func(_ int, key string, value json.Token) bool {
		found = strings.EqualFold(key, "type") && value == PluginType
		return !found
	})
	return found
}
