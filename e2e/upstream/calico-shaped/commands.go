// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"
	types100 "github.com/containernetworking/cni/pkg/types/100"
	"github.com/vishvananda/netlink"
)

func init() {
	// The plugin opens handles at other namespaces, which moves the thread for a moment.
	runtime.LockOSThread()
}

// hostName is the name of the host's end: "cali" and eleven hexadecimal digits, as many as a link name can hold.
func hostName(args *skel.CmdArgs) string {
	sum := sha256.Sum256([]byte(args.ContainerID + "/" + args.IfName))
	return "cali" + hex.EncodeToString(sum[:])[:11]
}

func add(args *skel.CmdArgs) error {
	conf, addresses, err := parse(args.StdinData)
	if err != nil {
		return err
	}
	host := hostName(args)
	if len(addresses) > 0 {
		if err := connect(args.Netns, args.IfName, host, conf.MTU, addresses); err != nil {
			// A half-made pair would stand in the way of the runtime's next attempt.
			return errors.Join(err, disconnect(host))
		}
	}
	if len(conf.Result) > 0 {
		_, err := os.Stdout.WriteString(conf.answer(args.Netns))
		return err
	}
	return types.PrintResult(calicoResult(host, addresses), conf.CNIVersion)
}

// calicoResult is what Calico up to v3.30 answers: the host's end by name only, addresses without an interface, no
// gateway, no routes (https://github.com/projectcalico/calico/issues/10351).
func calicoResult(host string, addresses []address) *types100.Result {
	result := &types100.Result{
		CNIVersion: types100.ImplementedSpecVersion,
		Interfaces: []*types100.Interface{{Name: host}},
	}
	for _, a := range addresses {
		result.IPs = append(result.IPs, &types100.IPConfig{Address: *a.IPNet})
	}
	return result
}

func del(args *skel.CmdArgs) error {
	return disconnect(hostName(args))
}

func check(args *skel.CmdArgs) error {
	_, addresses, err := parse(args.StdinData)
	if err != nil || len(addresses) == 0 {
		return err
	}
	if _, err := netlink.LinkByName(hostName(args)); err != nil {
		return fmt.Errorf("find the host's end %s: %w", hostName(args), err)
	}
	return checkPod(args.Netns, args.IfName, addresses)
}
