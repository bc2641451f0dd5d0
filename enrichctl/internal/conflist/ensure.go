// SPDX-License-Identifier: Apache-2.0

package conflist

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// Ensure gives the bytes of the list with exactly one entry of our type, behind the primary and with the settings of
// entry (see Entry). When that is so already it returns data itself, and there is nothing to write.
//
// A new entry goes last, but before tc-redirect-tap. One that is there stays where it is, as long as it is behind the
// primary, and is replaced in place when its settings are other ones; of several the first behind the primary stays.
//
// supported are the CNI versions of the plugin's VERSION answer. The error is a *Refusal, and data is to be left alone.
func Ensure(data, entry []byte, supported []string) ([]byte, error) {
	wanted, err := parseEntry(entry)
	if err != nil {
		return nil, err
	}
	doc, err := parseList(data)
	if err != nil {
		return nil, err
	}
	if key, found := duplicateKey(data); found {
		return nil, refuse(CodeDuplicateKey, "the key %q is twice in one object; remove one", key)
	}
	if doc.primary() == len(doc.elements) {
		return nil, errAlone()
	}
	out := doc.apply(doc.ensure(entry, wanted))
	n, err := readAsLibcni(out)
	if err != nil {
		return nil, refuseUnreadable(err)
	}
	if err := checkVersions(n, supported); err != nil {
		return nil, err
	}
	if err := checkEnsured(doc, out, wanted); err != nil {
		return nil, err
	}
	return out, nil
}

// ensure gives the edits that Ensure makes.
func (d *document) ensure(entry []byte, wanted any) []edit {
	primary := d.primary()
	keep := slices.IndexFunc(d.elements[primary:], element.own)
	if keep < 0 {
		edits := d.cuts(element.own)
		return append(edits, d.insert(d.position(primary), entry)) // behind the primary, so behind all cuts
	}
	kept := d.elements[primary+keep]
	edits := d.cuts(func(e element) bool { return e.own() && e.start != kept.start })
	if !sameValue(kept.bytes(d.data), wanted) {
		edits = append(edits, edit{kept.start, kept.end, entry})
		slices.SortFunc(edits, func(a, b edit) int { return a.start - b.start })
	}
	return edits
}

// position gives the index that a new entry gets. The primary itself is never pushed back, not even when it is a
// tc-redirect-tap.
func (d *document) position(primary int) int {
	for i := primary + 1; i < len(d.elements); i++ {
		if d.elements[i].pluginType == beforeType {
			return i
		}
	}
	return len(d.elements)
}

// sameValue reports whether bytes decode to a value: key order, white space and the spelling of numbers and strings
// make no difference, because they make none to the plugin, which gets what libcni decoded.
func sameValue(data []byte, wanted any) bool {
	var got any
	return json.Unmarshal(data, &got) == nil && reflect.DeepEqual(got, wanted)
}

// parseEntry decodes the entry that Ensure was given.
func parseEntry(entry []byte) (any, error) {
	var wanted any
	if err := json.Unmarshal(entry, &wanted); err != nil {
		return nil, refuse(CodeInvalidEntry, "the entry to insert is not valid JSON; build it with Entry")
	}
	conf, err := readPlugin(wanted)
	if err != nil || conf.Type != PluginType {
		return nil, refuse(CodeInvalidEntry, "the entry to insert is no configuration of %s; build it with Entry", PluginType)
	}
	if key, found := duplicateKey(entry); found {
		return nil, refuse(CodeInvalidEntry, "the entry to insert has the key %q twice; build it with Entry", key)
	}
	return wanted, nil
}

// checkVersions holds the version that libcni will use against those of the plugin. libcni passes over the versions
// that it does not know itself, and the next libcni may know more: so the highest one counts.
func checkVersions(n *network, supported []string) error {
	if n.version == "" {
		return refuse(CodeNoVersion, "the list has no cniVersion, which makes it 0.1.0, where a Result has no interfaces; set it to 0.3.1 or higher")
	}
	v, err := parseVersion(n.version)
	switch {
	case err != nil:
		return refuse(CodeInvalidVersion, "the cniVersion of the list %v; correct it", err)
	case slices.Compare(v[:], []int{0, 3, 0}) < 0:
		return refuse(CodeOldVersion, "the cniVersion of the list is below 0.3.0, where a Result has no interfaces; set it to 0.3.1 or higher")
	}
	for _, s := range n.versions {
		// The runtime compares the strings, and "1.0" is as high as "1.0.0".
		if !versionAbove(n.version, s) && !slices.Contains(supported, s) {
			return refuse(CodeUnsupportedVersion, "the plugin does not know the list's CNI version %q, only %s; install a newer %s or lower the version",
				s, strings.Join(supported, ", "), PluginType)
		}
	}
	return nil
}

func errAlone() error {
	return refuse(CodeAlone, "the list has no plugin but %s, which makes no interface itself; put the primary plugin in front of it, or remove the file", PluginType)
}

// checkEnsured decodes the edited bytes anew and refuses them unless they are the original list plus ours: every key
// beside plugins and every other plugin, in its order, is as before, and our entry is there once and behind another.
func checkEnsured(before *document, out []byte, wanted any) error {
	after, err := parseList(out)
	if err != nil {
		return errCheck()
	}
	own := after.own()
	if len(own) != 1 || own[0] < after.primary() || !sameOthers(before, after) {
		return errCheck()
	}
	if kept := after.elements[own[0]].bytes(out); !sameValue(kept, wanted) {
		return errCheck()
	}
	return nil
}

// sameOthers reports whether two lists are the same but for the entries of our type.
func sameOthers(before, after *document) bool {
	b, errB := decodeOthers(before)
	a, errA := decodeOthers(after)
	return errB == nil && errA == nil && reflect.DeepEqual(b, a)
}

// decodeOthers decodes a list, every number as it is written, without our entries.
func decodeOthers(doc *document) (map[string]any, error) {
	var list map[string]any
	dec := json.NewDecoder(bytes.NewReader(doc.data))
	dec.UseNumber()
	if err := dec.Decode(&list); err != nil {
		return nil, err
	}
	plugins, ok := list["plugins"].([]any)
	if !ok || len(plugins) != len(doc.elements) {
		return nil, errCheck()
	}
	others := make([]any, 0, len(plugins))
	for i, p := range plugins {
		if !doc.elements[i].own() {
			others = append(others, p)
		}
	}
	list["plugins"] = others
	return list, nil
}

func errCheck() error {
	return refuse(CodeCheckFailed, "the edited list would not read as the same list with our entry changed; the file is left alone: please report its layout")
}
