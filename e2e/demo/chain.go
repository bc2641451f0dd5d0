// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/invoke"
	types100 "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/version"
)

const (
	upstreamType = "calico-shaped"
	enricherType = "result-enricher"

	// cniVersion is that of the conflist that Calico up to v3.30 installs.
	cniVersion  = "0.3.1"
	networkName = "k8s-pod-network"
	containerID = "demo-pod"
	ifName      = "eth0"
	netnsPath   = "/var/run/netns/demo-pod"
)

// chain is a conflist and the libcni that runs it.
type chain struct {
	list *libcni.NetworkConfigList
	cni  *libcni.CNIConfig
	log  *bytes.Buffer
	rt   *libcni.RuntimeConf
}

// newChain is a chain of the upstream plugin and what follows it. dir holds the binaries and the result cache.
func newChain(dir string, following ...string) (*chain, error) {
	plugins := []map[string]any{{
		"type":      upstreamType,
		"addresses": []string{"10.135.153.140/32", "fd00:135::140/128"},
	}}
	for _, kind := range following {
		plugins = append(plugins, map[string]any{"type": kind})
	}
	raw, err := json.Marshal(map[string]any{"cniVersion": cniVersion, "name": networkName, "plugins": plugins})
	if err != nil {
		return nil, fmt.Errorf("encode the conflist: %w", err)
	}
	list, err := libcni.ConfListFromBytes(raw)
	if err != nil {
		return nil, fmt.Errorf("load the conflist: %w", err)
	}
	log := &bytes.Buffer{}
	exec := &invoke.DefaultExec{RawExec: &invoke.RawExec{Stderr: log}, PluginDecoder: version.PluginDecoder{}}
	return &chain{
		list: list,
		cni:  libcni.NewCNIConfigWithCacheDir([]string{dir}, filepath.Join(dir, "cache"), exec),
		log:  log,
		rt:   &libcni.RuntimeConf{ContainerID: containerID, NetNS: netnsPath, IfName: ifName},
	}, nil
}

// add runs ADD and gives the Result in both forms: as a runtime gets it, and decoded.
func (c *chain) add(ctx context.Context) ([]byte, *types100.Result, error) {
	result, err := c.cni.AddNetworkList(ctx, c.list, c.rt)
	if err != nil {
		return nil, nil, fmt.Errorf("run ADD: %w\n%s", err, c.log)
	}
	raw, err := json.Marshal(result)
	if err != nil {
		return nil, nil, fmt.Errorf("encode the Result: %w", err)
	}
	decoded, err := types100.NewResultFromResult(result)
	if err != nil {
		return nil, nil, fmt.Errorf("convert the Result: %w", err)
	}
	return raw, decoded, nil
}

func (c *chain) del(ctx context.Context) error {
	if err := c.cni.DelNetworkList(ctx, c.list, c.rt); err != nil {
		return fmt.Errorf("run DEL: %w\n%s", err, c.log)
	}
	return nil
}

// repair is one repair as result-enricher logs it.
type repair struct {
	Rule   string          `json:"rule"`
	Path   string          `json:"path"`
	Old    json.RawMessage `json:"old"`
	New    json.RawMessage `json:"new"`
	Reason string          `json:"reason"`
}

// repairs are read from what the plugins wrote to stderr: one JSON object per line, some with a list of repairs.
func (c *chain) repairs() ([]repair, error) {
	var all []repair
	for lines := bufio.NewScanner(bytes.NewReader(c.log.Bytes())); lines.Scan(); {
		var record struct {
			Repairs []repair `json:"repairs"`
		}
		if err := json.Unmarshal(lines.Bytes(), &record); err != nil {
			return nil, fmt.Errorf("read the log line %q: %w", lines.Text(), err)
		}
		all = append(all, record.Repairs...)
	}
	return all, nil
}
