// SPDX-License-Identifier: Apache-2.0

package conflist_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/result-enricher/result-enricher/enrichctl/internal/conflist"
)

// seeds are small documents that each lead to another branch; the golden files are added to them.
var seeds = []string{
	``, ` `, `{}`, `[]`, `null`, "\xef\xbb\xbf{}", `{} {}`, `{"plugins":`, `{"type":"a"}`,
	list(`[{"type":"a"}]`),
	list("[ {\"type\":\"a\"} ,\r\n\t{\"type\":\"tc-redirect-tap\"} ]"),
	list(`[` + ours + `,{"type":"a"},` + ours + `]`),
	list(`[{"type":"loopback"},` + ours + `,{"type":"bridge"}]`),
	list(`[{"type":"a"},{"t\u0079pe":"result\u002denricher","x":1e999}]`),
	list(`[{"type":"a","type":"b"},{"Type":"result-enricher","type":null}]`),
	list(`[{"type":"a","capabilities":{"x":true},"ipam":{"type":1},"dns":{"search":[null]}}]`),
	list(`[null,[],"x",1e400,{"type":"a"}]`),
	`{"cniVersions":["0.4.0","1.1.0","9.9"],"cniVersion":"1.0.0","name":"n","disableCheck":"TRUE","disableGC":false,"plugins":[{"type":"a"}]}`,
	`{"name":"n","Name":"m","plugins":[{"type":"a"}],"plugin\u017f":[]}`,
	`{"type":"multus","clusterNetwork":"/n/10-calico.conflist","delegates":[{"name":"n","plugins":[{"type":"a"},` + ours + `]},{"type":"b"},null]}`,
	`{"plugins":[{"type":"a"},{"Type":"multus-shim","Delegates":[{"plugins":{}}]}]}`,
}

func addSeeds(f *testing.F, add func([]byte)) {
	f.Helper()
	for _, s := range seeds {
		add([]byte(s))
	}
	files, err := filepath.Glob("testdata/*.*") // .conflist and .golden; the fuzzer's own corpus is a directory
	if err != nil || len(files) < 30 {
		f.Fatalf("find the golden files: %d, %v", len(files), err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		add(data)
	}
}

func FuzzEnsure(f *testing.F) {
	addSeeds(f, func(data []byte) {
		f.Add(data, []byte(`{}`))
		f.Add(data, []byte(`{"gateways":true, "n":1e3}`))
	})
	f.Fuzz(func(t *testing.T, data, config []byte) {
		entry, err := conflist.Entry(config)
		if err != nil {
			if refusal := checkRefusal(config, entry, err); refusal != nil {
				t.Fatal(refusal)
			}
			entry = []byte(ours)
		}
		if err := checkEnsure(data, entry); err != nil {
			t.Fatal(err)
		}
		if err := checkInspect(data); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzRemove(f *testing.F) {
	addSeeds(f, func(data []byte) { f.Add(data) })
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := checkRemove(data); err != nil {
			t.Fatal(err)
		}
		if _, n, err := conflist.Remove(data); err == nil && n > 0 && !conflist.Mentions(data) {
			t.Fatal("removed what Mentions does not find")
		}
	})
}

func FuzzInspectMultus(f *testing.F) {
	addSeeds(f, func(data []byte) { f.Add(data) })
	f.Fuzz(func(t *testing.T, data []byte) {
		info, err := conflist.InspectMultus(data)
		if err != nil {
			if refusal := checkRefusal(data, nil, err); refusal != nil {
				t.Fatal(refusal)
			}
			return
		}
		// The same by decoding into structs, as multus does. What it rejects, and keys that are there twice, are not compared.
		type plugin struct{ Type string }
		var conf struct {
			Type           string
			ClusterNetwork string
			Delegates      []struct {
				Name, Type string
				Plugins    []plugin
			}
		}
		if json.Unmarshal(data, &conf) != nil || !conflist.IsMultus(conf.Type) || duplicateFolded(json.NewDecoder(bytes.NewReader(data))) {
			return
		}
		if info.ClusterNetwork != conf.ClusterNetwork || len(info.Embedded) != len(conf.Delegates) {
			t.Fatalf("got %+v, multus reads %+v", info, conf)
		}
		for i, d := range conf.Delegates {
			var want []string
			if d.Type != "" {
				want = []string{d.Type}
			} else {
				for _, p := range d.Plugins {
					want = append(want, p.Type)
				}
			}
			if got := info.Embedded[i]; got.Name != d.Name || !slices.Equal(got.Plugins, want) ||
				got.HasOwn != (d.Type == "" && behindOther(want)) {
				t.Fatalf("got %+v, multus reads %+v", got, d)
			}
		}
	})
}

// behindOther reports whether our type comes behind another one.
func behindOther(types []string) bool {
	for i, name := range types {
		if name != conflist.PluginType {
			return slices.Contains(types[i:], conflist.PluginType)
		}
	}
	return false
}

// duplicateFolded reads one value and reports whether any object in it has a key twice, the case of letters aside.
func duplicateFolded(dec *json.Decoder) bool {
	tok, err := dec.Token()
	if err != nil {
		return false
	}
	delim, isDelim := tok.(json.Delim)
	if !isDelim {
		return false
	}
	var keys []string
	found := false
	for dec.More() {
		if delim == '{' {
			key, err := dec.Token()
			if err != nil {
				return found
			}
			name, _ := key.(string) // a key is always a string
			found = found || slices.ContainsFunc(keys, func(k string) bool { return strings.EqualFold(k, name) })
			keys = append(keys, name)
		}
		found = duplicateFolded(dec) || found
	}
	if _, err := dec.Token(); err != nil { // the closing bracket
		return found
	}
	return found
}
