// SPDX-License-Identifier: Apache-2.0

package conflist

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"
)

// reservedKeys are set by us (type) or by libcni for every plugin it runs.
var reservedKeys = []string{"type", "name", "cniVersion", "prevResult"}

// Entry builds the exact bytes of our element from an object with the plugin's settings: one line, the type first and
// then the settings as they are written, in their order. Whether their values are good is for the plugin's own parser.
// The error is a *Refusal.
func Entry(pluginConfig []byte) ([]byte, error) {
	if !json.Valid(pluginConfig) {
		return nil, refuse(CodeInvalidConfig, "the plugin configuration is not valid JSON; write an object such as {\"logLevel\":\"debug\"}")
	}
	config := gjson.ParseBytes(pluginConfig)
	if !config.IsObject() {
		return nil, refuse(CodeInvalidConfig, "the plugin configuration is no JSON object; write one such as {\"logLevel\":\"debug\"}")
	}
	if key, found := duplicateKey(pluginConfig); found {
		return nil, refuse(CodeInvalidConfig, "the plugin configuration has the key %q twice; remove one", key)
	}
	var err error
	var seen []string
	config.ForEach(func(key, _ gjson.Result) bool {
		name := unquote(key.Raw)
		for _, reserved := range reservedKeys {
			// Plugins decode into structs, where the case of letters makes no difference.
			if strings.EqualFold(name, reserved) {
				err = refuse(CodeInvalidConfig, "the plugin configuration may not have the key %q; remove it", name)
			}
		}
		for _, other := range seen {
			if strings.EqualFold(name, other) {
				err = refuse(CodeInvalidConfig, "the plugin configuration has the keys %q and %q, which the plugin takes for one; remove one", other, name)
			}
		}
		seen = append(seen, name)
		return err == nil
	})
	if err != nil {
		return nil, err
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, pluginConfig); err != nil {
		return nil, refuse(CodeInvalidConfig, "the plugin configuration is not valid JSON: %v", err)
	}
	entry := []byte(`{"type":"` + PluginType + `"`)
	if settings := compact.Bytes()[1:]; len(settings) > 1 {
		entry = append(entry, ',')
		entry = append(entry, settings...)
	} else {
		entry = append(entry, '}')
	}
	var raw any
	if err := json.Unmarshal(entry, &raw); err != nil {
		return nil, refuse(CodeInvalidConfig, "libcni does not accept the plugin configuration: %v", decodingError(err))
	}
	if _, err := readPlugin(raw); err != nil {
		return nil, refuse(CodeInvalidConfig, "libcni does not accept the plugin configuration: %v", err)
	}
	return entry, nil
}
