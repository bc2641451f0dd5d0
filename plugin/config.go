// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
)

// FailurePolicy is what ADD and CHECK do when the sandbox cannot be inspected.
type FailurePolicy string

const (
	// PolicyIgnore hands prevResult on and warns.
	PolicyIgnore FailurePolicy = "ignore"
	// PolicyFail answers with a CNI error.
	PolicyFail FailurePolicy = "fail"
)

// Config is the plugin's entry in a conflist.
type Config struct {
	FailurePolicy FailurePolicy
	// Gateways fills missing ips[].gateway from the kernel's default routes.
	Gateways bool
	// LogLevel is the lowest level that is logged.
	LogLevel slog.Level
	// LogFile gets the log too, empty for stderr only.
	LogFile string
}

// ParseConfig reads the known keys of the plugin's entry, a JSON object. Keys
// that are absent or null have their defaults; unknown ones are ignored, as the
// specification wants. An error names the key and its value.
//
// Keys are matched to the letter, as runtimes that are not written in Go do.
func ParseConfig(raw []byte) (Config, error) {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(raw, &keys); err != nil {
		return Config{}, fmt.Errorf("decode configuration: %w", err)
	}
	return configOf(keys)
}

var logLevels = map[string]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
}

func configOf(keys map[string]json.RawMessage) (Config, error) {
	policy, level := string(PolicyIgnore), "info"
	var config Config
	err := all(
		setting(keys, "failurePolicy", `"ignore" or "fail"`, &policy, func() bool {
			return policy == string(PolicyIgnore) || policy == string(PolicyFail)
		}),
		setting(keys, "gateways", "true or false", &config.Gateways, nil),
		setting(keys, "logLevel", `"debug", "info", "warn" or "error"`, &level, func() bool {
			_, known := logLevels[level]
			return known
		}),
		setting(keys, "logFile", "the path of a file", &config.LogFile, nil),
	)
	config.FailurePolicy, config.LogLevel = FailurePolicy(policy), logLevels[level]
	return config, err
}

// all joins errors on one line, as CNI errors are shown.
func all(errs ...error) error {
	var texts []string
	for _, err := range errs {
		if err != nil {
			texts = append(texts, err.Error())
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return errors.New(strings.Join(texts, "; "))
}

// setting decodes one key into value, which holds the default.
func setting(keys map[string]json.RawMessage, key, want string, value any, valid func() bool) error {
	raw, ok := keys[key]
	if !ok {
		return nil
	}
	// null leaves the default.
	if err := json.Unmarshal(raw, value); err != nil || valid != nil && !valid() {
		return fmt.Errorf("%s must be %s, not %s", key, want, raw)
	}
	return nil
}
