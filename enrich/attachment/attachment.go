// SPDX-License-Identifier: Apache-2.0

package attachment

import (
	"encoding/json"
	"errors"
	"net/netip"

	"github.com/containernetworking/cni/pkg/types"
)

// Errors of this package wrap one of these.
var (
	// ErrNotFound: the cache has no attachment of that container.
	ErrNotFound = errors.New("no attachment is cached")
	// ErrUnreadable: a file or directory of the cache could not be read, or does
	// not decode.
	ErrUnreadable = errors.New("cached attachment cannot be read")
	// ErrSeveral: the container has several attachments where one was asked for.
	ErrSeveral = errors.New("several attachments are cached")
	// ErrIncomplete: the namespace could not be inspected, so that what follows
	// the kernel is missing.
	ErrIncomplete = errors.New("sandbox cannot be inspected")
)

// Attachment is one interface that CNI made for a container.
type Attachment struct {
	// ContainerID is CNI_CONTAINERID. For Nomad it is the allocation's ID.
	ContainerID string `json:"containerID"`
	// Network is the name of the network in its configuration.
	Network string `json:"network"`
	// Interface is CNI_IFNAME, the name in the container.
	Interface string `json:"interface"`
	// Netns is the path of the network namespace, empty when nobody says it.
	Netns string `json:"netns,omitempty"`
	// Kind is the kernel's word for the interface: veth, netkit, macvlan.
	Kind string `json:"kind,omitempty"`
	// MAC is the hardware address in net.HardwareAddr's spelling.
	MAC string `json:"mac,omitempty"`
	// MTU in bytes, 0 when it is not known.
	MTU int `json:"mtu,omitempty"`
	// Addresses are in the Result's order.
	Addresses []Address `json:"addresses"`
	// Routes are the Result's, or the kernel's when the Result has none.
	Routes []Route `json:"routes"`
	// DNS is the Result's.
	DNS types.DNS `json:"dns"`
	// HostDevice is the name of the device on the host that the interface leads
	// to: the other end of a veth or netkit pair, the lower device of a macvlan
	// or ipvlan. Empty when it is in no namespace of the caller's.
	HostDevice string `json:"hostDevice,omitempty"`
	// Tap is the tap device in the namespace, nil when there is none or when it
	// cannot be told which.
	Tap *Tap `json:"tap,omitempty"`
	// CNIVersion is that of the configuration.
	CNIVersion string `json:"cniVersion"`
	// Result is what the chain answered to ADD, as it is cached.
	Result json.RawMessage `json:"-"`
	// Incomplete says why the kernel could not be asked. It wraps ErrIncomplete,
	// and is nil when all is known.
	Incomplete error `json:"-"`
}

// Address is one address of an interface.
type Address struct {
	// Prefix has the address and its length, as the Result has it. It may be a
	// single address (/32, /128) whose gateway is on no subnet of it.
	Prefix netip.Prefix `json:"prefix"`
	// Gateway is the Result's, or the next hop of the kernel's default route of
	// the family; invalid when there is none.
	Gateway netip.Addr `json:"gateway,omitzero"`
}

// Route is one route of an interface.
type Route struct {
	Destination netip.Prefix `json:"dst"`
	// Gateway is invalid for a route to what is on the link.
	Gateway netip.Addr `json:"gw,omitzero"`
}

// Tap is a tap device for a virtual machine.
type Tap struct {
	// Name in the container's namespace.
	Name string `json:"name"`
	// MTU in bytes, 0 when it is not known.
	MTU int `json:"mtu,omitempty"`
	// GuestMAC is what the guest must use: the Result's for the machine, or else
	// the interface's, as tc-redirect-tap has it.
	GuestMAC string `json:"guestMAC,omitempty"`
}

// IPv4 gives the first IPv4 address; false when there is none.
func (a Attachment) IPv4() (Address, bool) { return a.first(netip.Addr.Is4) }

// IPv6 gives the first IPv6 address; false when there is none.
func (a Attachment) IPv6() (Address, bool) { return a.first(netip.Addr.Is6) }

func (a Attachment) first(family func(netip.Addr) bool) (Address, bool) {
	for _, address := range a.Addresses {
		if family(address.Prefix.Addr()) {
			return address, true
		}
	}
	return Address{}, false
}
