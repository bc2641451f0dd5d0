// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/result-enricher/result-enricher/enrich"
)

// Request says what to read beside the pod link and its addresses.
type Request struct {
	// IfName is the name of the pod link.
	IfName string
	// Links are further names whose hardware addresses are wanted.
	Links []string
	// DefaultRoutes asks for the default routes through the pod link.
	DefaultRoutes bool
}

// Observe reads the sandbox. What went wrong is in the observation: it then
// says that the sandbox could not be inspected, or that the addresses are
// incomplete. OwnSandboxes is left to the caller, who asks [Sandbox.Same].
func (s *Sandbox) Observe(request Request) enrich.Observation {
	obs, err := s.reader.observe(request)
	if err != nil {
		return enrich.Observation{Err: fmt.Errorf("read namespace %s: %w", s.path, err)}
	}
	return obs
}

// MAC reads the hardware address of one link, in net.HardwareAddr's spelling
// and empty when it has none. The error is ErrNoLink when there is no such link.
func (s *Sandbox) MAC(name string) (string, error) {
	state, err := s.reader.link(name)
	if err != nil {
		return "", fmt.Errorf("read link %q of namespace %s: %w", name, s.path, err)
	}
	return state.mac.String(), nil
}

// conn asks the kernel, so that its faults can be injected. Link is a single
// request that the kernel answers at once; the others are dumps, which end in
// errDumpInterrupted, beside what was read, when something changed meanwhile.
// What does not exist is ENODEV.
type conn interface {
	Link(name string) (linkState, error)
	Addresses(index int) ([]netip.Addr, error)
	DefaultRoutes(index int) ([]enrich.DefaultRoute, error)
	SetTimeout(left time.Duration) error
}

// reader reads one namespace until the context's deadline.
type reader struct {
	ctx  context.Context
	conn conn
}

func (r *reader) observe(request Request) (enrich.Observation, error) {
	var obs enrich.Observation
	state, err := r.link(request.IfName)
	if errors.Is(err, ErrNoLink) {
		return obs, nil
	} else if err != nil {
		return obs, err
	}
	link := &enrich.Link{MTU: state.mtu, ParentDevice: state.parentDevice}
	if len(state.mac) == 6 {
		link.MAC = state.mac.String()
	}
	err = r.details(request, state, link)
	if errors.Is(err, ErrNoLink) {
		return obs, fmt.Errorf("%w: link %q went while it was read", ErrInterrupted, request.IfName)
	} else if err != nil {
		return obs, err
	}
	obs.Link = link
	obs.MACs, err = r.macs(request.Links)
	return obs, err
}

// details reads what belongs to the pod link. The error is ErrNoLink when it is
// there no more.
func (r *reader) details(request Request, state linkState, link *enrich.Link) error {
	err := r.dump(func() (err error) {
		link.Addresses, err = r.conn.Addresses(state.index)
		return err
	})
	if err != nil && !errors.Is(err, ErrInterrupted) {
		return err
	}
	// A dump that stays interrupted until the deadline is a part.
	link.AddressesComplete = err == nil
	if request.DefaultRoutes {
		if err := r.dump(func() (err error) {
			link.DefaultRoutes, err = r.conn.DefaultRoutes(state.index)
			return err
		}); err != nil {
			return err
		}
	}
	if len(link.Addresses) > 0 {
		return nil
	}
	// A link that went meanwhile has no addresses either: an empty list says
	// something only about a link that is still there.
	again, err := r.link(request.IfName)
	if err == nil && again.index != state.index {
		return ErrNoLink
	}
	return err
}

// link reads one link by its name. Other links that carry the name as an
// alternative name are not it: the kernel's look-up finds them too.
func (r *reader) link(name string) (linkState, error) {
	if !PossibleName(name) {
		return linkState{}, fmt.Errorf("%w: %q is no name of a link", ErrNoLink, name)
	}
	if err := r.arm(); err != nil {
		return linkState{}, err
	}
	state, err := r.conn.Link(name)
	if err != nil {
		return linkState{}, classify(err)
	}
	if state.name != name {
		return linkState{}, fmt.Errorf("%w: %q is an alternative name", ErrNoLink, name)
	}
	return state, nil
}

// macs reads the hardware addresses of the links that exist and have one.
func (r *reader) macs(names []string) (map[string]string, error) {
	if len(names) == 0 {
		return nil, nil
	}
	macs := map[string]string{}
	for _, name := range names {
		state, err := r.link(name)
		if errors.Is(err, ErrNoLink) {
			continue
		} else if err != nil {
			return nil, err
		}
		// A tunnel's "hardware address" is an IP address; it is no mac.
		if mac := state.mac.String(); enrich.IsMAC(mac) {
			macs[name] = mac
		}
	}
	return macs, nil
}

// dump repeats list until it is complete or the deadline has passed; it then
// returns ErrInterrupted, and what list has kept is a part.
func (r *reader) dump(list func() error) error {
	var interrupted error
	for pause := time.Millisecond; ; pause = min(2*pause, 64*time.Millisecond) {
		if err := r.arm(); err != nil {
			if interrupted != nil {
				return fmt.Errorf("%w; %w", interrupted, err)
			}
			return err
		}
		interrupted = classify(list())
		if !errors.Is(interrupted, ErrInterrupted) {
			return interrupted
		}
		// Whatever changes the sandbox needs the processor too.
		select {
		case <-r.ctx.Done():
			return fmt.Errorf("%w until the deadline", interrupted)
		case <-time.After(pause):
		}
	}
}

// arm gives the next request what is left of the time.
func (r *reader) arm() error {
	deadline, ok := r.ctx.Deadline()
	if !ok {
		return nil
	}
	left := time.Until(deadline)
	if left < time.Microsecond {
		return classify(fmt.Errorf("read within the deadline: %w", os.ErrDeadlineExceeded))
	}
	return classify(r.conn.SetTimeout(left))
}

// PossibleName reports whether a link can have the name: the kernel's
// dev_valid_name, without the colon that it keeps for labels of addresses.
func PossibleName(name string) bool {
	return name != "" && len(name) < unix.IFNAMSIZ && name != "." && name != ".." &&
		!strings.ContainsAny(name, "/:\x00 \t\n\v\f\r")
}
