// SPDX-License-Identifier: Apache-2.0

package conflist

import (
	"strings"

	"github.com/tidwall/gjson"
)

// MultusInfo is what a multus configuration says of the networks it delegates to.
type MultusInfo struct {
	// ClusterNetwork is a file, a directory or a network name that multus looks up at every ADD; "" if there is none. When
	// it is set, multus does not read its delegates.
	ClusterNetwork string
	// Embedded are the delegates, copies made when the configuration was written. The first one is the cluster's network.
	Embedded []Delegate
}

// Delegate is a network configuration inside a multus configuration.
type Delegate struct {
	Name    string
	Plugins []string // types, in order; one for the configuration of a single plugin
	HasOwn  bool     // an entry of our type is behind another plugin
}

// InspectMultus reads a configuration whose plugin (of a list: whose first multus plugin) is multus or alike. It takes
// keys as multus does, without regard to the case of letters. The error is a *Refusal.
func InspectMultus(data []byte) (*MultusInfo, error) {
	if err := wellFormed(data); err != nil {
		return nil, err
	}
	conf, found := multusConf(gjson.ParseBytes(data))
	if !found {
		return nil, refuse(CodeNotMultus, "the file configures no multus; name the file that does")
	}
	info := &MultusInfo{ClusterNetwork: text(member(conf, "clusterNetwork"))}
	if delegates := member(conf, "delegates"); delegates.IsArray() {
		delegates.ForEach(func(_, delegate gjson.Result) bool {
			info.Embedded = append(info.Embedded, newDelegate(delegate))
			return true
		})
	}
	return info, nil
}

func multusConf(root gjson.Result) (conf gjson.Result, found bool) {
	if IsMultus(text(member(root, "type"))) {
		return root, true
	}
	if plugins := member(root, "plugins"); plugins.IsArray() {
		plugins.ForEach(func(_, plugin gjson.Result) bool {
			conf, found = plugin, IsMultus(text(member(plugin, "type")))
			return !found
		})
	}
	return conf, found
}

func newDelegate(value gjson.Result) Delegate {
	d := Delegate{Name: text(member(value, "name"))}
	if single := text(member(value, "type")); single != "" {
		d.Plugins = []string{single} // multus looks at plugins only when there is no type
		return d
	}
	if plugins := member(value, "plugins"); plugins.IsArray() {
		plugins.ForEach(func(_, plugin gjson.Result) bool {
			pluginType := text(member(plugin, "type"))
			d.HasOwn = d.HasOwn || pluginType == PluginType && d.primary()
			d.Plugins = append(d.Plugins, pluginType)
			return true
		})
	}
	return d
}

// primary reports whether a plugin that is not ours is among those seen so far.
func (d *Delegate) primary() bool {
	for _, t := range d.Plugins {
		if t != PluginType {
			return true
		}
	}
	return false
}

// member gives the last member whose key is name but for the case of letters; Exists is false when there is none.
func member(object gjson.Result, name string) gjson.Result {
	var last gjson.Result
	if object.IsObject() {
		object.ForEach(func(key, value gjson.Result) bool {
			if strings.EqualFold(unquote(key.Raw), name) {
				last = value
			}
			return true
		})
	}
	return last
}

// text gives the value of a string, "" for anything else.
func text(value gjson.Result) string {
	if value.Type != gjson.String {
		return ""
	}
	return unquote(value.Raw)
}
