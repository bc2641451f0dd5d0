// SPDX-License-Identifier: Apache-2.0

package consumers

import (
	"context"
	"encoding/json"
	"fmt"

	. "github.com/onsi/ginkgo/v2"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/invoke"
	"github.com/containernetworking/cni/pkg/types"
	"github.com/containernetworking/cni/pkg/version"
)

// chain is how a situation is run.
type chain struct {
	situation
	// repaired says that result-enricher follows the plugin that answers the situation's Result.
	repaired bool
}

// conflist is the chain as a runtime reads it. The first plugin touches nothing.
func (c chain) conflist() ([]byte, error) {
	plugins := []map[string]any{{"type": "calico-shaped", "result": c.PrevResult}}
	if c.repaired {
		entry := map[string]any{"type": "result-enricher", "logLevel": "error"}
		for key, value := range c.Config {
			entry[key] = value
		}
		plugins = append(plugins, entry)
	}
	raw, err := json.Marshal(map[string]any{"cniVersion": c.CNIVersion, "name": "consumed", "plugins": plugins})
	if err != nil {
		return nil, fmt.Errorf("encode the conflist of %s: %w", c.ID, err)
	}
	return raw, nil
}

// add runs ADD and then DEL as multus and the Firecracker SDK do it, through libcni, and gives the Result of ADD.
func (c chain) add(ctx context.Context, cacheDir string) (types.Result, error) {
	raw, err := c.conflist()
	if err != nil {
		return nil, err
	}
	list, err := libcni.ConfListFromBytes(raw)
	if err != nil {
		return nil, fmt.Errorf("load the conflist of %s: %w", c.ID, err)
	}
	exec := &invoke.DefaultExec{RawExec: &invoke.RawExec{Stderr: GinkgoWriter}, PluginDecoder: version.PluginDecoder{}}
	cni := libcni.NewCNIConfigWithCacheDir([]string{binDir}, cacheDir, exec)
	rt := &libcni.RuntimeConf{ContainerID: c.ContainerID, NetNS: c.netns, IfName: c.IfName}
	result, err := cni.AddNetworkList(ctx, list, rt)
	if err != nil {
		return nil, fmt.Errorf("add %s: %w", c.ID, err)
	}
	if err := cni.DelNetworkList(ctx, list, rt); err != nil {
		return nil, fmt.Errorf("delete %s: %w", c.ID, err)
	}
	return result, nil
}
