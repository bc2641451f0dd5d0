// SPDX-License-Identifier: Apache-2.0

package enrich

import (
	"fmt"
	"net"
	"net/netip"

	types100 "github.com/containernetworking/cni/pkg/types/100"
)

// givenIndices are the indices of prevResult in terms of the list without
// nulls; one that led to a null entry keeps the number it had, for the record.
func givenIndices(prev *Prev) []*int {
	given := make([]*int, len(prev.Result.IPs))
	for i, ip := range prev.Result.IPs {
		given[i] = ip.Interface
		if was, ok := prev.lost[i]; ok {
			given[i] = &was
		}
	}
	return given
}

// dropImpossible removes indices that lead to no entry. go-cni panics on them,
// and the Firecracker SDK indexes without a check.
func (w *work) dropImpossible() {
	for _, ip := range w.result.IPs {
		if ip.Interface != nil && (*ip.Interface < 0 || *ip.Interface >= len(w.result.Interfaces)) {
			ip.Interface = nil
		}
	}
}

// indices is R7: where every address belongs when the pod's entry is at pod,
// which may be one past the list. Nothing is changed.
//
// An index to any entry with a sandbox stays, whatever the kernel says: the
// same address twice is a VM's, and a bridge inside the pod holds its own.
func (w *work) indices(pod int) []*int {
	indices := make([]*int, len(w.result.IPs))
	owns := false
	for i, ip := range w.result.IPs {
		indices[i] = ip.Interface
		if (ip.Interface == nil || w.host(*ip.Interface, pod)) && w.podHolds(ip) {
			indices[i] = types100.Int(pod)
		}
		owns = owns || indices[i] != nil && *indices[i] == pod
	}
	if owns || w.sandboxBeside(pod) {
		return indices
	}
	for i, ip := range w.result.IPs {
		// multus answers 0.0.0.0/0 for a pod that is gone; it is nobody's address.
		if indices[i] == nil && !ip.Address.IP.IsUnspecified() {
			indices[i] = types100.Int(pod)
		}
	}
	return indices
}

// host reports whether the entry at i lives on the host.
func (w *work) host(i, pod int) bool {
	return i != pod && w.result.Interfaces[i].Sandbox == ""
}

// unowned is R6's condition: every address must belong to an entry inside a
// sandbox afterwards. Before R6 no entry has one, so that entry is the pod's.
func (w *work) unowned(indices []*int, pod int) error {
	for i, index := range indices {
		if index == nil || *index != pod {
			return fmt.Errorf("%w: ips[%d] is %s", ErrUnowned, i, w.result.IPs[i].Address.String())
		}
	}
	return nil
}

// noteIndices records R7 as the difference between what came and what goes.
func (w *work) noteIndices() {
	for i, ip := range w.result.IPs {
		before, after := deref(w.given[i]), deref(ip.Interface)
		if before == after {
			continue
		}
		w.note("R7", path("ips", i, "interface"), before, after, w.indexReason(i))
	}
}

func (w *work) indexReason(i int) string {
	ip := w.result.IPs[i]
	switch {
	case ip.Interface == nil:
		return "the index leads to no entry, and consumers panic on it"
	case !w.podHolds(ip):
		return "the pod's entry is the only one in a sandbox"
	case w.given[i] == nil:
		return "the pod link holds the address, which had no index"
	default:
		return "the pod link holds the address, which was indexed elsewhere"
	}
}

// fillGateways is R8. 0.0.0.0 and :: are values that an upstream plugin chose.
func (w *work) fillGateways(pod int) {
	for i, ip := range w.result.IPs {
		if ip.Interface == nil || *ip.Interface != pod || len(ip.Gateway) != 0 {
			continue
		}
		hop, ok := nextHop(w.obs.Link.DefaultRoutes, ip.Address.IP.To4() == nil)
		if !ok {
			continue
		}
		ip.Gateway = net.IP(hop.AsSlice())
		w.note("R8", path("ips", i, "gateway"), nil, hop.String(), "next hop of the pod link's default route")
	}
}

// nextHop is that of the route in use for the family, the one of the lowest
// metric; false when there is none or it has no gateway.
func nextHop(routes []DefaultRoute, ipv6 bool) (netip.Addr, bool) {
	best := -1
	for i, route := range routes {
		if route.IPv6 == ipv6 && (best < 0 || route.Metric < routes[best].Metric) {
			best = i
		}
	}
	if best < 0 || !routes[best].NextHop.IsValid() {
		return netip.Addr{}, false
	}
	return routes[best].NextHop, true
}

// deref gives an index as it stands in JSON.
func deref(index *int) any {
	if index == nil {
		return nil
	}
	return *index
}
