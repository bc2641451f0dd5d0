// SPDX-License-Identifier: Apache-2.0

package consumers

import (
	"reflect"

	"github.com/containernetworking/cni/pkg/types"
	"github.com/firecracker-microvm/firecracker-go-sdk/cni/vmconf"
)

// vm is the configuration of a VM.
type vm = *vmconf.StaticNetworkConf

// vmConf is what the Firecracker SDK boots the VM with.
func (s situation) vmConf(result types.Result) (vm, error) {
	return vmconf.StaticNetworkConfFrom(result, s.ContainerID)
}

// worseForFirecracker compares the VM's configuration: nothing of it may change.
func worseForFirecracker(before, after vm) []string {
	var c complaints
	old, now := *before, *after
	c.unless(reflect.DeepEqual(routes(old.VMRoutes), routes(now.VMRoutes)),
		"the VM's routes were %v and are %v", old.VMRoutes, now.VMRoutes)
	old.VMRoutes, now.VMRoutes = nil, nil
	c.unless(reflect.DeepEqual(old, now), "the VM's configuration was %+v and is %+v", old, now)
	return c
}
