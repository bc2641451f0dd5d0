// SPDX-License-Identifier: Apache-2.0

package enrich

import (
	"errors"
	"net/netip"

	types100 "github.com/containernetworking/cni/pkg/types/100"
)

// Call is what the runtime said about the attachment.
type Call struct {
	// CNIVersion is the configuration's, and so the version of the Result that
	// is returned. It decides whether an mtu can be said at all (R9).
	CNIVersion string
	// Netns is CNI_NETNS, verbatim: the CHECK of the reference plugins compares
	// an entry's sandbox with it as a string.
	Netns string
	// IfName is CNI_IFNAME, the name of the pod link.
	IfName string
	// ContainerID is CNI_CONTAINERID. Some plugins write it into sandbox.
	ContainerID string
}

// Options are the choices of the plugin's configuration that change the Result.
type Options struct {
	// Gateways fills a missing ips[].gateway from the default routes (R8).
	Gateways bool
}

// Observation is what was seen of the sandbox while the attachment was made.
type Observation struct {
	// Err says that the sandbox could not be inspected; nothing else is then set.
	Err error
	// Link is the pod link, nil when the sandbox has no link of that name.
	Link *Link
	// OwnSandboxes are other spellings of Call.Netns found in the Result: paths
	// that lead to the same namespace file.
	OwnSandboxes []string
	// MACs are the hardware addresses of the links that [LinksWanted] named, by
	// name and in net.HardwareAddr's spelling; links that do not exist or have no
	// hardware address are absent.
	MACs map[string]string
}

// Link is the state of the pod link.
type Link struct {
	// MAC is the 6-byte hardware address in net.HardwareAddr's spelling, empty
	// when the link has none of that length (tun, IP over InfiniBand).
	MAC string
	// MTU in bytes.
	MTU int
	// ParentDevice says that a bus device stands behind the link: a physical or
	// virtual function, whose address may be set after ADD.
	ParentDevice bool
	// Addresses are the local addresses (IFA_LOCAL) in every state, tentative
	// and deprecated too, without their prefix lengths.
	Addresses []netip.Addr
	// AddressesComplete says that the dump of the addresses was not interrupted.
	// An interrupted one proves presence, never absence.
	AddressesComplete bool
	// DefaultRoutes are the unicast default routes of the main table through
	// the link. They are read only for Options.Gateways.
	DefaultRoutes []DefaultRoute
}

// DefaultRoute is a route of prefix length 0 through the pod link.
type DefaultRoute struct {
	// IPv6 is the family of the route.
	IPv6 bool
	// NextHop is invalid for a route without a gateway of its own family.
	NextHop netip.Addr
	// Metric decides between several: the lowest is the one in use.
	Metric int
}

// Repair is one change, with what a person needs to believe it.
type Repair struct {
	// Rule is "R1" to "R8".
	Rule string `json:"rule"`
	// Path is the place in the Result, as interfaces[1].mac. Indices are those
	// of the new Result, for a removed null entry those of prevResult.
	Path string `json:"path"`
	// Old and New are the values as they stand in JSON, nil for absent or null.
	Old any `json:"old"`
	New any `json:"new"`
	// Reason is one clause, lower case.
	Reason string `json:"reason"`
}

// Outcome is the repaired Result.
type Outcome struct {
	// Result shares nothing with what was given to [Apply].
	Result *types100.Result
	// Repairs are in the order of the rules; empty when nothing was to do.
	Repairs []Repair
	// LeftAlone says why the rules did not run, nil when they did. It is one of
	// the errors of this package, with detail.
	LeftAlone error
}

// Why a Result is left alone (R2, R3 and R6). [Outcome.LeftAlone] wraps one.
var (
	// ErrUnreadable: the sandbox could not be inspected; wraps the cause.
	ErrUnreadable = errors.New("sandbox cannot be inspected")
	// ErrIncomplete: the addresses could be read only in part, and the repair
	// would have to conclude that one is absent.
	ErrIncomplete = errors.New("addresses of the pod link were read incompletely")
	// ErrLinkMissing: no link and no entry of that name.
	ErrLinkMissing = errors.New("no link of that name in the sandbox")
	// ErrNoNetdev: an entry of that name, but no link: a device that is given to
	// the pod without a netdev (DPDK, VFIO). Not a fault.
	ErrNoNetdev = errors.New("entry without a link in the sandbox, as for DPDK and VFIO")
	// ErrNoMAC: the pod link has no 6-byte hardware address.
	ErrNoMAC = errors.New("pod link has no 6-byte hardware address")
	// ErrEmptyResult: neither interfaces nor ips, a configuration-only plugin.
	ErrEmptyResult = errors.New("result has neither interfaces nor ips")
	// ErrPrivateMAC: a mac that is none. AWS VPC CNI keeps a route table and a
	// VLAN there and reads them back at DEL (routed-eni-cni-plugin).
	ErrPrivateMAC = errors.New("mac holds the upstream plugin's private data")
	// ErrForeignSpelling: the entry of that name has a sandbox that cannot be
	// recognised from here, as Antrea's, which spells it under /host.
	ErrForeignSpelling = errors.New("entry of that name belongs to a sandbox that is spelled otherwise")
	// ErrUnowned: an entry could be appended, but an address would then belong
	// to no interface inside the pod, and consumers would lose it.
	ErrUnowned = errors.New("an address of the Result is not the pod link's")
)

// Failure is R10: the error to return when the configuration asks for errors,
// nil when the Result is as good as it can be.
func (o Outcome) Failure() error {
	for _, fault := range []error{ErrUnreadable, ErrIncomplete, ErrLinkMissing} {
		if errors.Is(o.LeftAlone, fault) {
			return o.LeftAlone
		}
	}
	return nil
}
