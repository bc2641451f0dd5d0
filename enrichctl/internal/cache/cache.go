// SPDX-License-Identifier: Apache-2.0

// Package cache reads the configurations that were kept for the containers of this
// node: by libcni beside each Result, and by multus for its delegates.
//
// It only reads. What it is for: CRI-O and multus tear a container down with the
// configuration of its ADD, not with today's. As long as one of these names our plugin,
// its binary has to stay, or the pod terminates for ever.
//
// The convention it relies on: libcni (v0.7 and up) writes
// <cache>/results/<network>-<container>-<interface> with the configuration as base64 in
// "config"; multus (v3, v4) writes <scratch>/<container>, an array of delegates with the
// configuration as base64 in "Bytes", and its libcni writes into results/ below that.
package cache

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/result-enricher/result-enricher/enrichctl/internal/conflist"
)

// maxSize bounds what is read of one file.
const maxSize = 16 << 20

// Attachment is one cached configuration.
type Attachment struct {
	// Path is the file of the cache.
	Path string
	// Container is the container's ID. Multus calls its file so.
	Container string
	// Network and Interface are empty in multus's scratch.
	Network, Interface string
	// Netns is empty when the cache does not say.
	Netns string
	// Needs says that the configuration names our plugin, so that its binary is needed for DEL.
	Needs bool
	// Plugins are the types in the configuration's list, in order.
	Plugins []string
}

// Live reports whether the container's namespace is still there. One that is not
// known counts as gone. Where the directory of the namespaces cannot be seen, as in a pod, the
// cache is believed, which a runtime clears when it tears a container down.
func (a Attachment) Live() bool {
	if a.Netns == "" {
		return false
	}
	if _, err := os.Stat(a.Netns); err == nil {
		return true
	}
	_, err := os.Stat(filepath.Dir(a.Netns))
	return errors.Is(err, fs.ErrNotExist)
}

// Read gives what is in the directories and in results/ below each. A directory that is not
// there holds nothing; whatever else cannot be read is in the error, and the rest is
// given all the same.
func Read(dirs []string) ([]Attachment, error) {
	var all []Attachment
	var errs []error
	seen := map[string]bool{}
	for _, dir := range dirs {
		for _, d := range []string{dir, filepath.Join(dir, "results")} {
			physical, err := filepath.EvalSymlinks(d)
			if err == nil && seen[physical] {
				continue
			}
			seen[physical] = true
			found, err := readDir(d)
			all = append(all, found...)
			errs = append(errs, err)
		}
	}
	return all, errors.Join(errs...)
}

func readDir(dir string) ([]Attachment, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read cached configurations: %w", err)
	}
	var found []Attachment
	var errs []error
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		path := filepath.Join(dir, e.Name())
		data, err := readFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist): // the container has gone since
		case err != nil:
			errs = append(errs, fmt.Errorf("read cached configuration: %w", err))
		default:
			found = append(found, parse(path, data))
		}
	}
	return found, errors.Join(errs...)
}

func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxSize {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxSize)
	}
	return os.ReadFile(path)
}

// cached has the keys of libcni's file that are of use here.
type cached struct {
	Container string `json:"containerId"`
	Interface string `json:"ifName"`
	Network   string `json:"networkName"`
	Netns     string `json:"netns"`
	Config    []byte `json:"config"`
}

func parse(path string, data []byte) Attachment {
	a := Attachment{Path: path, Container: filepath.Base(path), Needs: mentions(data)}
	var c cached
	// A file of another form keeps the defaults; what it mentions is known.
	if err := json.Unmarshal(data, &c); err != nil {
		return a
	}
	if c.Container != "" {
		a.Container = c.Container
	}
	a.Network, a.Interface, a.Netns = c.Network, c.Interface, c.Netns
	if info, err := conflist.Inspect(c.Config); err == nil {
		a.Plugins = info.Plugins
		if a.Network == "" {
			a.Network = info.Name
		}
	}
	return a
}

// mentions looks for our plugin in a document and in the documents that are in it as
// base64.
func mentions(data []byte) bool {
	var doc any
	if err := json.Unmarshal(data, &doc); err != nil {
		return mentionsPart(data)
	}
	return conflist.Mentions(data) || mentionsInside(doc)
}

func mentionsInside(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for key, item := range v {
			if text, ok := item.(string); ok && (strings.EqualFold(key, "config") || strings.EqualFold(key, "bytes")) {
				if inner, err := base64.StdEncoding.DecodeString(text); err == nil && mentions(inner) {
					return true
				}
			}
			if mentionsInside(item) {
				return true
			}
		}
	case []any:
		for _, item := range v {
			if mentionsInside(item) {
				return true
			}
		}
	}
	return false
}

// mentionsPart looks into a file that is cut off or no JSON, where only the name can be
// found, in plain or as base64 at any of the three positions it can have there.
func mentionsPart(data []byte) bool {
	if bytes.Contains(data, []byte(conflist.PluginType)) {
		return true
	}
	for shift := range 3 {
		encoded := base64.StdEncoding.EncodeToString(append(make([]byte, shift), conflist.PluginType...))
		// The first and last group depend on what stands around.
		if bytes.Contains(data, []byte(encoded[4:len(encoded)-4])) {
			return true
		}
	}
	return false
}
