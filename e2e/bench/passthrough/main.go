// SPDX-License-Identifier: Apache-2.0

// Command passthrough is the least that a chained plugin written with the
// library's skeleton can be: it hands prevResult on.
package main

import (
	"encoding/json"
	"fmt"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"
	"github.com/containernetworking/cni/pkg/version"
)

func main() {
	nothing := func(*skel.CmdArgs) error { return nil }
	skel.PluginMainFuncs(skel.CNIFuncs{Add: add, Check: nothing, Del: nothing, GC: nothing, Status: nothing},
		version.All, "CNI plugin passthrough")
}

func add(args *skel.CmdArgs) error {
	var conf types.PluginConf
	if err := json.Unmarshal(args.StdinData, &conf); err != nil {
		return fmt.Errorf("decode configuration: %w", err)
	}
	if err := version.ParsePrevResult(&conf); err != nil {
		return fmt.Errorf("decode prevResult: %w", err)
	}
	return types.PrintResult(conf.PrevResult, conf.CNIVersion)
}
