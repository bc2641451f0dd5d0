// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/result-enricher/result-enricher/enrichctl/internal/conflist"
	"github.com/result-enricher/result-enricher/enrichctl/internal/metrics"
	"github.com/result-enricher/result-enricher/plugin"
)

// The types of flags. Each checks its value when it is set, so that flags and variables
// are refused alike.

// levelValue is a log level; its zero value is info.
type levelValue struct{ level slog.Level }

var levels = map[string]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
}

func (v *levelValue) Set(text string) error {
	level, ok := levels[text]
	if !ok {
		return fmt.Errorf("want debug, info, warn or error, not %q", text)
	}
	v.level = level
	return nil
}

func (v *levelValue) String() string { return strings.ToLower(v.level.String()) }
func (v *levelValue) Type() string   { return "level" }

// outputValue is a form of output: one of choices, the first being the default.
type outputValue struct {
	choices []string
	text    string
}

func newOutput(choices ...string) *outputValue { return &outputValue{choices, choices[0]} }

func (v *outputValue) Set(text string) error {
	for _, c := range v.choices {
		if c == text {
			v.text = text
			return nil
		}
	}
	return fmt.Errorf("want %s, not %q", strings.Join(v.choices, " or "), text)
}

func (v *outputValue) String() string { return v.text }
func (v *outputValue) Type() string   { return "form" }

// pathValue is a path, made absolute so that messages name it in full.
type pathValue struct{ path string }

func (v *pathValue) Set(text string) error {
	path, err := absolute(text)
	v.path = path
	return err
}

func (v *pathValue) String() string { return v.path }
func (v *pathValue) Type() string   { return "path" }

func absolute(text string) (string, error) {
	if text == "" {
		return "", errors.New("want a path, not nothing")
	}
	return filepath.Abs(text)
}

// pathsValue is a list of paths. The first one that is set replaces the default.
type pathsValue struct {
	paths []string
	set   bool
	// in is the directory that a name without a directory lies in; nil for the working directory.
	in *pathValue
}

func (v *pathsValue) Set(text string) error {
	path := text
	if v.in == nil || strings.Contains(text, "/") || text == "" {
		var err error
		if path, err = absolute(text); err != nil {
			return err
		}
	}
	if !v.set {
		v.paths, v.set = nil, true
	}
	v.paths = append(v.paths, path)
	return nil
}

// list gives the paths, without repetitions.
func (v *pathsValue) list() []string {
	var list []string
	seen := map[string]bool{}
	for _, path := range v.paths {
		if v.in != nil && !filepath.IsAbs(path) {
			path = filepath.Join(v.in.path, path)
		}
		if !seen[path] {
			list = append(list, path)
		}
		seen[path] = true
	}
	return list
}

func (v *pathsValue) String() string { return strings.Join(v.paths, ":") }
func (v *pathsValue) Type() string   { return "path" }

// entryValue is the settings of our entry; it holds the whole entry. The plugin's own
// parser decides what is good.
type entryValue struct {
	settings string
	entry    []byte
}

func (v *entryValue) Set(text string) error {
	entry, err := conflist.Entry([]byte(text))
	if err != nil {
		return err
	}
	if _, err := plugin.ParseConfig(entry); err != nil {
		return err
	}
	v.settings, v.entry = text, entry
	return nil
}

func (v *entryValue) String() string { return v.settings }
func (v *entryValue) Type() string   { return "object" }

// addressValue is where metrics are served; empty for nowhere.
type addressValue struct{ address string }

func (v *addressValue) Set(text string) error {
	address, err := metrics.ParseAddress(text)
	v.address = address
	return err
}

func (v *addressValue) String() string { return v.address }
func (v *addressValue) Type() string   { return "address" }

// waitValue is a time to wait.
type waitValue struct{ wait time.Duration }

func (v *waitValue) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return fmt.Errorf("want a duration such as 30s or 5m, not %q", text)
	}
	v.wait = d
	return nil
}

func (v *waitValue) String() string { return v.wait.String() }
func (v *waitValue) Type() string   { return "duration" }
