// SPDX-License-Identifier: Apache-2.0

package enrich

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"

	types100 "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/version"
)

// noEntry is the position of a pod's entry that the Result does not have.
const noEntry = -1

// Apply runs the rules of the package comment on prev, which it does not change:
// the outcome has copies of every list and entry.
func Apply(prev *Prev, call Call, obs Observation, opts Options) Outcome {
	w := &work{call: call, obs: obs, result: clone(prev.Result), repairs: slices.Clone(prev.nulls)}
	w.given = givenIndices(prev)
	if obs.Link != nil {
		w.held = slices.Clone(obs.Link.Addresses)
		slices.SortFunc(w.held, netip.Addr.Compare)
	}
	w.dropImpossible()
	if err := w.unfit(); err != nil {
		return w.leftAlone(err)
	}
	pod, err := w.podEntry()
	if err != nil {
		return w.leftAlone(err)
	}
	appending := pod == noEntry && !w.sandboxBeside(noEntry)
	if appending {
		pod = len(w.result.Interfaces)
	}
	var indices []*int
	if pod != noEntry {
		indices = w.indices(pod)
	}
	if appending {
		// The entry and the indices are one step: multus 4.1 and podman lose an
		// address that no entry inside the pod owns, as soon as there is one.
		if err := w.unowned(indices, pod); err != nil {
			return w.leftAlone(err)
		}
	} else if pod != noEntry {
		w.completePodEntry(pod)
	}
	w.completeOthers(pod)
	if appending {
		w.appendPodEntry()
	}
	for i, index := range indices {
		w.result.IPs[i].Interface = index
	}
	w.noteIndices()
	if opts.Gateways && pod != noEntry {
		w.fillGateways(pod)
	}
	return Outcome{Result: w.result, Repairs: w.repairs}
}

// work is one Result under repair.
type work struct {
	call    Call
	obs     Observation
	result  *types100.Result
	repairs []Repair
	// held are the addresses of the pod link, sorted: a Result may have as many.
	held []netip.Addr
	// given are the indices as prevResult has them, for the record.
	given []*int
}

func (w *work) note(rule, path string, before, after any, reason string) {
	w.repairs = append(w.repairs, Repair{Rule: rule, Path: path, Old: before, New: after, Reason: reason})
}

func (w *work) leftAlone(why error) Outcome {
	w.noteIndices()
	return Outcome{Result: w.result, Repairs: w.repairs, LeftAlone: why}
}

// unfit is R2. What R10 may call an error comes first, so that a sandbox that
// cannot be inspected is one whatever the Result says.
func (w *work) unfit() error {
	if w.obs.Err != nil {
		return fmt.Errorf("%w: %w", ErrUnreadable, w.obs.Err)
	}
	if w.obs.Link == nil {
		if w.named() {
			return fmt.Errorf("%w: %q", ErrNoNetdev, w.call.IfName)
		}
		return fmt.Errorf("%w: %q", ErrLinkMissing, w.call.IfName)
	}
	if len(w.result.Interfaces) == 0 && len(w.result.IPs) == 0 {
		return ErrEmptyResult
	}
	for i, entry := range w.result.Interfaces {
		if entry.Mac != "" && !IsMAC(entry.Mac) {
			return fmt.Errorf("%w: %s is %q", ErrPrivateMAC, entryPath(i, "mac"), entry.Mac)
		}
	}
	if w.obs.Link.MAC == "" {
		return ErrNoMAC
	}
	return w.incomplete()
}

// incomplete refuses a partial dump unless it has every address of the Result:
// then nothing would be concluded from what it lacks.
func (w *work) incomplete() error {
	if w.obs.Link.AddressesComplete {
		return nil
	}
	for i, ip := range w.result.IPs {
		if !w.podHolds(ip) {
			return fmt.Errorf("%w: ips[%d] was not among them", ErrIncomplete, i)
		}
	}
	return nil
}

func (w *work) named() bool {
	return slices.ContainsFunc(w.result.Interfaces, func(e *types100.Interface) bool {
		return e.Name == w.call.IfName
	})
}

// podEntry is R3: the position of the pod's entry, or noEntry.
func (w *work) podEntry() (int, error) {
	fits := []func(i int, e *types100.Interface) bool{
		func(_ int, e *types100.Interface) bool { return w.own(e) },
		func(_ int, e *types100.Interface) bool {
			// Terway writes the container ID into sandbox, without a mac.
			return e.Sandbox == w.call.ContainerID && w.emptyOrPodMAC(e)
		},
	}
	foreign := func(_ int, e *types100.Interface) bool { return e.Sandbox != "" }
	unsaid := func(i int, e *types100.Interface) bool {
		// Without a sandbox the entry may as well be a host link of that name.
		return e.Sandbox == "" && (w.emptyOrPodMAC(e) || len(w.result.Interfaces) == 1 || w.podAddressAt(i))
	}
	for _, fit := range fits {
		if i := w.firstNamed(fit); i != noEntry {
			return i, nil
		}
	}
	if i := w.firstNamed(foreign); i != noEntry {
		return noEntry, fmt.Errorf("%w: %s is %q", ErrForeignSpelling, entryPath(i, "sandbox"), w.result.Interfaces[i].Sandbox)
	}
	return w.firstNamed(unsaid), nil
}

// firstNamed is the position of the first entry named CNI_IFNAME that fits.
func (w *work) firstNamed(fits func(i int, e *types100.Interface) bool) int {
	for i, e := range w.result.Interfaces {
		if e.Name == w.call.IfName && fits(i, e) {
			return i
		}
	}
	return noEntry
}

// own reports whether the entry's sandbox is the namespace of the call.
func (w *work) own(e *types100.Interface) bool {
	return isOwn(e.Sandbox, w.call, w.obs.OwnSandboxes)
}

func isOwn(sandbox string, call Call, spellings []string) bool {
	return sandbox != "" && (sandbox == call.Netns || slices.Contains(spellings, sandbox))
}

func (w *work) emptyOrPodMAC(e *types100.Interface) bool {
	return e.Mac == "" || SameMAC(e.Mac, w.obs.Link.MAC)
}

// podAddressAt reports whether an address of the pod link is indexed to entry i.
func (w *work) podAddressAt(i int) bool {
	return slices.ContainsFunc(w.result.IPs, func(ip *types100.IPConfig) bool {
		return ip.Interface != nil && *ip.Interface == i && w.podHolds(ip)
	})
}

// podHolds compares addresses without their prefix lengths: Calico, Azure and
// Weave report other masks than the kernel has. IPv4 written as IPv6 is the same
// address: Results come with both.
func (w *work) podHolds(ip *types100.IPConfig) bool {
	addr, ok := netip.AddrFromSlice(ip.Address.IP)
	if !ok {
		return false
	}
	_, held := slices.BinarySearchFunc(w.held, addr.Unmap(), netip.Addr.Compare)
	return held
}

// sandboxBeside reports whether an entry other than that at pod has a sandbox.
func (w *work) sandboxBeside(pod int) bool {
	for i, e := range w.result.Interfaces {
		if i != pod && e.Sandbox != "" {
			return true
		}
	}
	return false
}

// completePodEntry is R4.
func (w *work) completePodEntry(pod int) {
	entry, link := w.result.Interfaces[pod], w.obs.Link
	if entry.Sandbox != w.call.Netns {
		w.note("R4", entryPath(pod, "sandbox"), orNil(entry.Sandbox), w.call.Netns,
			"the entry is the pod link's, and its sandbox is CNI_NETNS verbatim")
		entry.Sandbox = w.call.Netns
	}
	switch {
	case entry.Mac == "":
		w.note("R4", entryPath(pod, "mac"), nil, link.MAC, "the kernel's address of the pod link was missing")
		entry.Mac = link.MAC
	case entry.Mac != link.MAC && !link.ParentDevice:
		w.note("R4", entryPath(pod, "mac"), entry.Mac, link.MAC, "the kernel has another address on the pod link")
		entry.Mac = link.MAC
	}
	if saysMTU(w.call.CNIVersion) && link.MTU > 0 && entry.Mtu != link.MTU {
		reason := "the kernel has another mtu on the pod link"
		if entry.Mtu == 0 {
			reason = "the kernel's mtu of the pod link was missing"
		}
		w.note("R4", entryPath(pod, "mtu"), orNil(entry.Mtu), link.MTU, reason)
		entry.Mtu = link.MTU
	}
}

// completeOthers is R5.
func (w *work) completeOthers(pod int) {
	for i, e := range w.result.Interfaces {
		if i == pod || e.Mac != "" || !w.own(e) {
			continue
		}
		mac := w.obs.MACs[e.Name]
		if e.Name == w.call.IfName {
			mac = w.obs.Link.MAC
		}
		if mac == "" {
			continue
		}
		w.note("R5", entryPath(i, "mac"), nil, mac, "the kernel's address of a link of the same sandbox was missing")
		e.Mac = mac
	}
}

// appendPodEntry is R6.
func (w *work) appendPodEntry() {
	entry := &types100.Interface{Name: w.call.IfName, Mac: w.obs.Link.MAC, Sandbox: w.call.Netns}
	if saysMTU(w.call.CNIVersion) {
		entry.Mtu = w.obs.Link.MTU
	}
	w.result.Interfaces = append(w.result.Interfaces, entry)
	w.note("R6", entryPath(len(w.result.Interfaces)-1), nil, *entry, "the Result names no interface inside the pod")
}

// LinksWanted names the links whose hardware addresses R5 needs: those of
// entries of the call's sandbox without a mac, other than the pod link.
// spellings are Observation.OwnSandboxes.
func LinksWanted(prev *Prev, call Call, spellings []string) []string {
	var names []string
	for _, e := range prev.Result.Interfaces {
		if e.Mac == "" && e.Name != call.IfName && isOwn(e.Sandbox, call, spellings) && !slices.Contains(names, e.Name) {
			names = append(names, e.Name)
		}
	}
	return names
}

// OtherSandboxes are the sandboxes of prev that may be another spelling of
// CNI_NETNS: absolute paths. Whether they are, only the kernel knows.
func OtherSandboxes(prev *Prev, call Call) []string {
	var paths []string
	for _, e := range prev.Result.Interfaces {
		if e.Sandbox != call.Netns && len(e.Sandbox) > 0 && e.Sandbox[0] == '/' && !slices.Contains(paths, e.Sandbox) {
			paths = append(paths, e.Sandbox)
		}
	}
	return paths
}

// OwnEntry is the entry of the pod link that is known to be one: by its name
// and the call's sandbox. It is nil when there is none, or only another's.
func OwnEntry(prev *Prev, call Call, spellings []string) *types100.Interface {
	for _, e := range prev.Result.Interfaces {
		if e.Name == call.IfName && isOwn(e.Sandbox, call, spellings) {
			return e
		}
	}
	return nil
}

// IsMAC reports whether s is a hardware address of any length.
func IsMAC(s string) bool {
	_, err := net.ParseMAC(s)
	return err == nil
}

// SameMAC reports whether two spellings are the same hardware address.
func SameMAC(a, b string) bool {
	x, errX := net.ParseMAC(a)
	y, errY := net.ParseMAC(b)
	return errors.Join(errX, errY) == nil && slices.Equal(x, y)
}

// saysMTU reports whether Results of the version have an mtu (R9): the library
// drops it below 1.0.0.
func saysMTU(cniVersion string) bool {
	ok, err := version.GreaterThanOrEqualTo(cniVersion, "1.0.0")
	return err == nil && ok
}

func clone(in *types100.Result) *types100.Result {
	out := *in
	out.Interfaces, out.IPs, out.Routes = nil, nil, nil
	for _, e := range in.Interfaces {
		out.Interfaces = append(out.Interfaces, e.Copy())
	}
	for _, ip := range in.IPs {
		out.IPs = append(out.IPs, ip.Copy())
	}
	for _, route := range in.Routes {
		out.Routes = append(out.Routes, route.Copy())
	}
	out.DNS = *in.DNS.Copy()
	return &out
}

func entryPath(i int, key ...string) string { return path("interfaces", i, key...) }

// path is that of an element of a list, or of what is in it.
func path(list string, i int, keys ...string) string {
	p := list + "[" + strconv.Itoa(i) + "]"
	for _, key := range keys {
		p += "." + key
	}
	return p
}

// orNil is v, or nil for the zero value, which JSON leaves out.
func orNil[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}
