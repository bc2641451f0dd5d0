// SPDX-License-Identifier: Apache-2.0

package conflist

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// pluginConf has the keys that libcni decodes of each plugin (types.PluginConf), so that a list is refused here
// exactly when libcni would refuse it. A test and the fuzz targets hold this against libcni itself.
type pluginConf struct {
	CNIVersion   string          `json:"cniVersion"`
	Name         string          `json:"name"`
	Type         string          `json:"type"`
	Capabilities map[string]bool `json:"capabilities"`
	IPAM         struct {
		Type string `json:"type"`
	} `json:"ipam"`
	DNS struct {
		Nameservers []string `json:"nameservers"`
		Domain      string   `json:"domain"`
		Search      []string `json:"search"`
		Options     []string `json:"options"`
	} `json:"dns"`
	PrevResult       map[string]any `json:"prevResult"`
	ValidAttachments []struct {
		ContainerID string `json:"containerID"`
		IfName      string `json:"ifname"`
	} `json:"cni.dev/valid-attachments"`
}

// network is what libcni reads of a list besides the plugins' own settings.
type network struct {
	name        string
	version     string   // the highest of versions; "" if there is none
	versions    []string // cniVersions, and cniVersion unless empty
	noCheck     bool
	noGC        bool
	onlyInlined bool
	types       []string
}

// readAsLibcni decodes a list by libcni's rules. Its errors name keys and positions, never values (see Refusal).
func readAsLibcni(data []byte) (*network, error) {
	var raw map[string]any
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, decodingError(err)
	}
	n := &network{}
	name, ok := raw["name"]
	if !ok {
		return nil, errors.New("it has no name")
	}
	if n.name, ok = name.(string); !ok {
		return nil, errors.New("its name is no string")
	}
	if err := n.readVersions(raw); err != nil {
		return nil, err
	}
	for _, b := range []struct {
		key string
		to  *bool
	}{{"disableCheck", &n.noCheck}, {"disableGC", &n.noGC}, {"loadOnlyInlinedPlugins", &n.onlyInlined}} {
		if err := readBool(raw, b.key, b.to); err != nil {
			return nil, err
		}
	}
	plugins, ok := raw["plugins"].([]any)
	if !ok || len(plugins) == 0 {
		// libcni would accept a list without plugins that has them in files of their own; this package does not (I4).
		return nil, errors.New("its plugins are no array, or an empty one")
	}
	for i, plugin := range plugins {
		conf, err := readPlugin(plugin)
		if err != nil {
			return nil, fmt.Errorf("plugins[%d]: %w", i, err)
		}
		n.types = append(n.types, conf.Type)
	}
	return n, nil
}

func (n *network) readVersions(raw map[string]any) error {
	var single string
	if v, ok := raw["cniVersion"]; ok {
		if single, ok = v.(string); !ok {
			return errors.New("its cniVersion is no string")
		}
	}
	if v, ok := raw["cniVersions"]; ok {
		list, ok := v.([]any)
		if !ok {
			return errors.New("its cniVersions are no array")
		}
		for i, v := range list {
			s, ok := v.(string)
			if !ok {
				return fmt.Errorf("cniVersions[%d] is no string", i)
			}
			if _, err := parseVersion(s); err != nil {
				return fmt.Errorf("cniVersions[%d] %w", i, err)
			}
			n.versions = append(n.versions, s)
		}
		// libcni looks into a lone cniVersion only when it runs a plugin, but into one beside cniVersions at once.
		if _, err := parseVersion(single); err != nil {
			return fmt.Errorf("its cniVersion %w", err)
		}
	}
	if single != "" {
		n.versions = append(n.versions, single)
	}
	for _, v := range n.versions {
		if n.version == "" || versionAbove(v, n.version) {
			n.version = v
		}
	}
	return nil
}

// readPlugin decodes one plugin the way libcni does: encoded again, with sorted keys, and then into the struct.
func readPlugin(plugin any) (*pluginConf, error) {
	encoded, err := json.Marshal(plugin)
	if err != nil {
		return nil, decodingError(err)
	}
	conf := &pluginConf{}
	if err := json.Unmarshal(encoded, conf); err != nil {
		return nil, decodingError(err)
	}
	if conf.Type == "" {
		return nil, errors.New("it has no type")
	}
	return conf, nil
}

// readBool understands true, false and, as libcni does, the strings "true" and "false" in any case.
func readBool(raw map[string]any, key string, to *bool) error {
	switch v := raw[key].(type) {
	case bool:
		*to = v
		return nil
	case string:
		switch strings.ToLower(v) {
		case "true", "false":
			*to = strings.EqualFold(v, "true")
			return nil
		}
	case nil:
		if _, ok := raw[key]; !ok {
			return nil
		}
	}
	return fmt.Errorf("its %s is neither true nor false", key)
}

// decodingError keeps what a person needs, and not the value.
func decodingError(err error) error {
	var wrongType *json.UnmarshalTypeError
	if !errors.As(err, &wrongType) {
		return err
	}
	kind, _, _ := strings.Cut(wrongType.Value, " ") // "number 1e999": the number may be anything
	if wrongType.Field == "" {
		return fmt.Errorf("a %s cannot be decoded as %v", kind, wrongType.Type)
	}
	return fmt.Errorf("the key %q holds a %s that cannot be decoded as %v", wrongType.Field, kind, wrongType.Type)
}

// parseVersion reads a version by libcni's rules: up to three numbers, missing ones are 0, and "" is 0.1.0.
func parseVersion(s string) ([3]int, error) {
	if s == "" {
		return [3]int{0, 1, 0}, nil
	}
	parts := strings.Split(s, ".")
	var v [3]int
	if len(parts) > len(v) {
		return v, errors.New("is no version like 1.0.0")
	}
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil {
			return v, errors.New("is no version like 1.0.0")
		}
		v[i] = n
	}
	return v, nil
}

// versionAbove reports whether a is the higher version. What is no version is the lowest.
func versionAbove(a, b string) bool {
	va, errA := parseVersion(a)
	vb, errB := parseVersion(b)
	if errA != nil || errB != nil {
		return errA == nil
	}
	for i := range va {
		if va[i] != vb[i] {
			return va[i] > vb[i]
		}
	}
	return false
}
