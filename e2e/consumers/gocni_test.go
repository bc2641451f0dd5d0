// SPDX-License-Identifier: Apache-2.0

package consumers

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	gocni "github.com/containerd/go-cni"
)

// attached is what go-cni makes of the Results of a pod.
type attached = *gocni.Result

// goCNI attaches the pod as containerd does it. The outcome is keyed by interface name.
func (c chain) goCNI(ctx context.Context) (result attached, err error) {
	conflist, err := c.conflist()
	if err != nil {
		return nil, err
	}
	// The library names the interface of network N by prefix and N, so another network has to come before net1.
	prefix, number := strings.TrimRight(c.IfName, "0123456789"), 0
	if _, err := fmt.Sscanf(strings.TrimPrefix(c.IfName, prefix), "%d", &number); err != nil {
		return nil, fmt.Errorf("take the number from %s: %w", c.IfName, err)
	}
	options := []gocni.Opt{gocni.WithPluginDir([]string{binDir}), gocni.WithInterfacePrefix(prefix)}
	for i := range number {
		empty := chain{situation: c.situation}
		empty.PrevResult = []byte(fmt.Sprintf(`{"cniVersion": %q}`, c.CNIVersion))
		before, err := empty.conflist()
		if err != nil {
			return nil, fmt.Errorf("make network %d: %w", i, err)
		}
		options = append(options, gocni.WithConfListBytes(before))
	}
	cni, err := gocni.New(append(options, gocni.WithConfListBytes(conflist))...)
	if err != nil {
		return nil, fmt.Errorf("load the conflist of %s: %w", c.ID, err)
	}
	defer func() { err = errors.Join(err, cni.Remove(ctx, c.ContainerID, c.netns)) }()
	return cni.Setup(ctx, c.ContainerID, c.netns)
}

// worseForContainerd compares what go-cni made of both Results. The CRI plugin takes the pod's addresses from the entry
// of the default interface, in their order, and shows names, MACs and sandboxes.
func (s situation) worseForContainerd(before, after attached) []string {
	var c complaints
	var given, got []string
	for name, old := range before.Interfaces {
		given = append(given, texts(old.IPConfigs)...)
		now := after.Interfaces[name]
		if now == nil {
			c.unless(false, "interface %s is gone", name)
			continue
		}
		// An address may leave a host interface. From one inside a pod it must not go.
		if old.Sandbox != "" || name == s.IfName {
			c.unless(inOrder(texts(old.IPConfigs), texts(now.IPConfigs)),
				"%s had %v and has %v", name, texts(old.IPConfigs), texts(now.IPConfigs))
		}
		mine := name == s.IfName
		c.unless(old.Mac == "" || now.Mac == old.Mac || mine && now.Mac == s.mac(),
			"%s had the MAC %s and has %q", name, old.Mac, now.Mac)
		c.unless(old.Sandbox == now.Sandbox || mine && now.Sandbox == s.netns,
			"%s had the sandbox %q and has %q", name, old.Sandbox, now.Sandbox)
		c.unless(now.PciID == old.PciID && now.SocketPath == old.SocketPath,
			"%s had the device %s%s and has %s%s", name, old.PciID, old.SocketPath, now.PciID, now.SocketPath)
	}
	for name, now := range after.Interfaces {
		got = append(got, texts(now.IPConfigs)...)
		c.unless(before.Interfaces[name] != nil || name == s.IfName, "interface %s is new", name)
	}
	c.unless(reflect.DeepEqual(counts(given), counts(got)), "the addresses were %v and are %v", given, got)
	c.unless(reflect.DeepEqual(before.DNS, after.DNS), "dns was %v and is %v", before.DNS, after.DNS)
	c.unless(reflect.DeepEqual(routes(before.Routes), routes(after.Routes)),
		"the routes were %v and are %v", before.Routes, after.Routes)
	return c
}

// texts are addresses with their gateways.
func texts(configs []*gocni.IPConfig) []string {
	var list []string
	for _, config := range configs {
		list = append(list, fmt.Sprintf("%s via %s", config.IP, config.Gateway))
	}
	return list
}
