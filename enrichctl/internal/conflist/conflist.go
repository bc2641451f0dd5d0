// SPDX-License-Identifier: Apache-2.0

// Package conflist edits the bytes of a CNI conflist: it puts one entry of type result-enricher into the
// plugins array, takes it out again, and says why it will not.
//
// It is pure. It reads no file, no clock and no environment and logs nothing; bytes go in, bytes come out, and
// the bytes given are never written to. Which file is meant, and how it gets onto the disk, is the caller's.
//
// Convention: an edit inserts, replaces or cuts whole elements of the top-level plugins array and leaves every
// other byte where it was, so that indentation, key order, numbers and keys nobody here has heard of survive,
// and so that Remove gives back what Ensure was given. Nothing is decoded and written anew. What a string or a
// key means is decided by encoding/json, because that is what libcni uses; gjson only finds positions, and only
// after encoding/json has called the document valid. Each edit is decoded again and held against the original
// before it is handed out.
//
// The rules for reading a list are those of libcni (NetworkConfFromBytes, v1.3.1).
package conflist

import (
	"fmt"
	"strings"
)

// PluginType is the type of our entry, which is also the file name of the plugin's binary.
const PluginType = "result-enricher"

// beforeType is the plugin that a new entry goes in front of: it turns the interface into a tap for a VM and needs the
// address to be indexed to that interface already.
const beforeType = "tc-redirect-tap"

// loopbackType is a plugin that can be first without being the primary.
const loopbackType = "loopback"

// Codes of a Refusal. They are stable: status prints them, metrics count them.
const (
	CodeEmpty              = "empty"                 // no bytes, or only white space; temporary
	CodeInvalidJSON        = "json-invalid"          // temporary
	CodeBOM                = "bom"                   // starts with a UTF-8 byte order mark
	CodeTrailingBytes      = "trailing-bytes"        // something follows the closing brace
	CodeNotObject          = "not-an-object"         // JSON, but no object
	CodeNotList            = "not-a-conflist"        // a single plugin's configuration, the .conf format
	CodeNoPlugins          = "plugins-missing"       // no plugins key, or an empty array
	CodeInvalidPlugins     = "plugins-invalid"       // plugins is no array, or an element is no object
	CodeDuplicateKey       = "duplicate-key"         // in one object twice
	CodeAmbiguousKey       = "ambiguous-key"         // two keys, or one, that readers take for another by ignoring case
	CodeUnreadable         = "libcni-rejects"        // libcni's own rules reject the list
	CodeNoVersion          = "version-missing"       // neither cniVersion nor cniVersions
	CodeInvalidVersion     = "version-invalid"       // not of the form 1.2.3
	CodeOldVersion         = "version-too-old"       // below 0.3.0: its Results have no interfaces
	CodeUnsupportedVersion = "version-unsupported"   // not in the plugin's VERSION answer
	CodeAlone              = "entry-alone"           // no plugin but ours
	CodeInvalidEntry       = "entry-invalid"         // what Ensure was given as entry is none
	CodeCheckFailed        = "edit-check-failed"     // the edited bytes do not read as the same list plus ours
	CodeNotMultus          = "not-multus"            // InspectMultus was given something else
	CodeInvalidConfig      = "plugin-config-invalid" // the settings for our entry
)

// Refusal says why bytes are not edited. Its sentences name keys, positions and versions, no other values: conflists may
// hold tokens.
type Refusal struct {
	Code   string // stable, kebab-case, one of the Code constants
	Detail string // a sentence that says what is wrong and what to do
	// Temporary: the owner of the file may be in the middle of writing it; wait and read it again.
	Temporary bool
}

// Error gives the code and the sentence.
func (r *Refusal) Error() string { return r.Code + ": " + r.Detail }

func refuse(code, format string, args ...any) error {
	return &Refusal{Code: code, Detail: fmt.Sprintf(format, args...)}
}

func refuseForNow(code, format string, args ...any) error {
	return &Refusal{Code: code, Detail: fmt.Sprintf(format, args...), Temporary: true}
}

// IsMultus reports whether a plugin type is multus, multus-shim or alike: a meta-plugin that runs in front and
// delegates to the cluster network, which it reads from another file or keeps a copy of. An entry behind it comes too
// late, because it has published the Result by then. CNI-Genie and DANM work the same way.
func IsMultus(pluginType string) bool {
	switch pluginType {
	case "multus", "genie", "danm":
		return true
	}
	return strings.HasPrefix(pluginType, "multus-")
}
