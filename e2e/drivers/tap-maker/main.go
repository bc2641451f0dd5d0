// SPDX-License-Identifier: Apache-2.0

// Command tap-maker is a CNI plugin for tests that stands where tc-redirect-tap stands in a chain: behind the plugin that
// makes the pod's interface. It makes a tap in the pod's namespace and describes the machine behind it by the convention of
// firecracker-go-sdk's package vmconf: two entries of the tap's name, of which one has the container's ID as sandbox and the
// pod interface's MAC, and has a copy of each address that is indexed to the pod's interface. It redirects nothing, so no
// packet ever reaches a machine.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"
	types100 "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/version"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// tapName is the name of every tap; a namespace has one.
const tapName = "tap0"

// tapMTU differs from that of the pod's interface, so that nobody takes one for the other.
const tapMTU = 1400

func main() {
	skel.PluginMainFuncs(skel.CNIFuncs{
		Add:   add,
		Del:   func(args *skel.CmdArgs) error { return del(args.Netns) },
		Check: func(*skel.CmdArgs) error { return nil }, // nobody asks a test's plugin
	}, version.VersionsStartingFrom("0.3.0"), "tap-maker: stands in for tc-redirect-tap")
}

func add(args *skel.CmdArgs) error {
	conf := &types.NetConf{}
	if err := json.Unmarshal(args.StdinData, conf); err != nil {
		return fmt.Errorf("parse the network configuration: %w", err)
	}
	if err := version.ParsePrevResult(conf); err != nil {
		return fmt.Errorf("parse prevResult: %w", err)
	}
	result, err := types100.NewResultFromResult(conf.PrevResult)
	if err != nil {
		return fmt.Errorf("convert prevResult: %w", err)
	}
	mac, err := makeTap(args.Netns)
	if err != nil {
		return err
	}
	describe(result, args, mac)
	return types.PrintResult(result, conf.CNIVersion)
}

// describe appends the tap, the machine, and the machine's copy of the pod interface's addresses.
func describe(result *types100.Result, args *skel.CmdArgs, mac string) {
	guest := ""
	machine := len(result.Interfaces) + 1
	for _, ip := range result.IPs {
		if ip.Interface == nil {
			continue
		}
		if pod := result.Interfaces[*ip.Interface]; pod.Name == args.IfName && pod.Sandbox == args.Netns {
			guest = pod.Mac
			result.IPs = append(result.IPs, &types100.IPConfig{
				Interface: types100.Int(machine), Address: ip.Address, Gateway: ip.Gateway,
			})
		}
	}
	result.Interfaces = append(result.Interfaces,
		&types100.Interface{Name: tapName, Mac: mac, Sandbox: args.Netns},
		&types100.Interface{Name: tapName, Mac: guest, Sandbox: args.ContainerID})
}

// inside runs f in the namespace, on a thread that ends with it: skel asks afterwards which namespace it is in.
func inside(path string, f func() error) error {
	ns, err := netns.GetFromPath(path)
	if err != nil {
		return fmt.Errorf("open the pod's namespace %s: %w", path, err)
	}
	defer ns.Close()
	result := make(chan error)
	go func() {
		runtime.LockOSThread()
		if err := netns.Set(ns); err != nil {
			result <- fmt.Errorf("enter the pod's namespace %s: %w", path, err)
			return
		}
		result <- f()
	}()
	return <-result
}

func makeTap(path string) (mac string, err error) {
	err = inside(path, func() error {
		tap := &netlink.Tuntap{LinkAttrs: netlink.LinkAttrs{Name: tapName}, Mode: netlink.TUNTAP_MODE_TAP}
		if err := netlink.LinkAdd(tap); err != nil {
			return fmt.Errorf("make the tap: %w", err)
		}
		if err := netlink.LinkSetMTU(tap, tapMTU); err != nil {
			return fmt.Errorf("set the tap's mtu: %w", err)
		}
		made, err := netlink.LinkByName(tapName)
		if err != nil {
			return fmt.Errorf("find the tap: %w", err)
		}
		mac = made.Attrs().HardwareAddr.String()
		return nil
	})
	return mac, err
}

// del removes the tap. That the namespace or the tap is gone is what DEL wants.
func del(path string) error {
	err := inside(path, func() error {
		tap, err := netlink.LinkByName(tapName)
		if err != nil {
			return err
		}
		return netlink.LinkDel(tap)
	})
	if errors.As(err, &netlink.LinkNotFoundError{}) || path == "" {
		return nil
	}
	return err
}
