// SPDX-License-Identifier: Apache-2.0

package consumers

import (
	"reflect"

	"github.com/containernetworking/cni/pkg/types"
	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	"github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/utils"
)

// statuses are the entries of a network-status.
type statuses = []*nadv1.NetworkStatus

// networkStatus is what multus writes for the cluster's default network.
func networkStatus(result types.Result) (statuses, error) {
	return utils.CreateNetworkStatuses(result, "default-network", true, nil)
}

// worseForMultus compares the network-status made of both Results. Whoever reads it finds the pod's interface by the
// default entry, and counts on one entry per attachment.
func (s situation) worseForMultus(before, after statuses) []string {
	var c complaints
	// A network that had vanished from the annotation may come back.
	c.unless(len(after) == len(before) || len(before) == 0 && len(after) == 1,
		"there were %d entries and are %d", len(before), len(after))
	c.unless(len(before) == 0 || defaults(after) >= defaults(before), "the default entry is gone")
	c.unless(defaults(after) <= max(defaults(before), 1), "there are %d default entries", defaults(after))
	for i := range min(len(before), len(after)) {
		old, now := before[i], after[i]
		mine := now.Interface == s.IfName
		c.unless(!old.Default || now.Default, "entry %d, %q, is not the default any more", i, old.Interface)
		c.unless(inOrder(old.IPs, now.IPs), "entry %d had %v and has %v", i, old.IPs, now.IPs)
		c.unless(old.Interface == now.Interface || old.Interface == "" && mine,
			"entry %d had the interface %q and has %q", i, old.Interface, now.Interface)
		c.unless(old.Mac == "" || old.Mac == now.Mac || mine && now.Mac == s.mac(),
			"entry %d had the MAC %s and has %q", i, old.Mac, now.Mac)
		c.unless(old.Mtu == 0 || now.Mtu != 0, "entry %d has lost its MTU", i)
		c.unless(reflect.DeepEqual(old.Gateway, now.Gateway), "entry %d had the gateway %v and has %v", i, old.Gateway, now.Gateway)
		c.unless(reflect.DeepEqual(old.DNS, now.DNS) && reflect.DeepEqual(old.DeviceInfo, now.DeviceInfo),
			"dns or device of entry %d changed", i)
	}
	return c
}

func defaults(all statuses) int {
	n := 0
	for _, status := range all {
		if status.Default {
			n++
		}
	}
	return n
}
