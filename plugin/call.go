// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/containernetworking/cni/pkg/version"

	"github.com/result-enricher/result-enricher/enrich"
	"github.com/result-enricher/result-enricher/enrich/sandbox"
)

// call is one ADD or CHECK with its input decoded.
type call struct {
	enrich.Call
	config Config
	// prev is the JSON of prevResult to the byte, empty when there is none.
	prev json.RawMessage
	// ownNamespace allows the plugin's own namespace, as CNI_NETNS_OVERRIDE does.
	ownNamespace bool
	open         func(ctx context.Context, path string) (*sandbox.Sandbox, error)
	log          *logger
}

// call reads the environment and the configuration. What is wrong with them is
// an error whatever the failure policy: there is no attachment to keep going.
func (p Process) call() (*call, error) {
	containerID, netns, ifName, err := p.environment()
	if err != nil {
		return nil, err
	}
	// Room for what most runtimes send: reading into less would copy it several times.
	stdin := bytes.NewBuffer(make([]byte, 0, 4<<10))
	if _, err := stdin.ReadFrom(p.Stdin); err != nil {
		return nil, fmt.Errorf("%w: read stdin: %w", errDecoding, err)
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(stdin.Bytes(), &keys); err != nil {
		return nil, fmt.Errorf("%w: configuration on stdin: %w", errDecoding, err)
	}
	if keys == nil {
		return nil, fmt.Errorf("%w: configuration on stdin: null is no configuration", errDecoding)
	}
	c := &call{prev: keys["prevResult"], open: p.Open}
	c.Netns, c.IfName, c.ContainerID = netns, ifName, containerID
	if version, ok := keys["cniVersion"]; ok {
		if err := json.Unmarshal(version, &c.CNIVersion); err != nil {
			return nil, fmt.Errorf("%w: cniVersion: %w", errDecoding, err)
		}
	}
	if c.CNIVersion == "" {
		// What a configuration without a version means (CNI specification 0.2.0).
		c.CNIVersion = "0.1.0"
	}
	if bytes.Equal(c.prev, []byte("null")) {
		c.prev = nil
	}
	if c.config, err = configOf(keys); err != nil {
		return nil, fmt.Errorf("%w: %w", errConfig, err)
	}
	override := strings.ToUpper(p.Getenv("CNI_NETNS_OVERRIDE"))
	c.ownNamespace = override == "TRUE" || override == "1"
	c.log = newLogger(p.Stderr, c.config,
		slog.String("containerID", containerID), slog.String("ifname", ifName), slog.String("netns", netns))
	return c, nil
}

// add is ADD: the document for stdout, or the error.
func (c *call) add() ([]byte, error) {
	switch {
	case c.prev == nil:
		return nil, fmt.Errorf("%w: no prevResult: %s must be chained after an interface plugin", errConfig, Name)
	case c.prev[0] != '{':
		return nil, fmt.Errorf("%w: prevResult is not a JSON object", errDecoding)
	}
	return c.promise(c.attach)
}

// promise is that of the policy "ignore": whatever goes wrong in work, the bytes
// of prevResult are the answer, and the log says why. Only in the plugin's own
// namespace there is nothing to promise: the runtime has made no sandbox.
func (c *call) promise(work func() ([]byte, error)) ([]byte, error) {
	document, err := c.guarded(work)
	if err != nil && c.config.FailurePolicy == PolicyIgnore && !errors.Is(err, errOwnNamespace) {
		c.log.log(slog.LevelWarn, "handed prevResult on as it is", slog.String("error", err.Error()))
		return c.prev, nil
	}
	return document, err
}

// formatWithoutInterfaces names the versions whose Results cannot say what this
// plugin has to say.
func formatWithoutInterfaces(cniVersion string) bool {
	return cniVersion == "0.1.0" || cniVersion == "0.2.0"
}

// guarded turns a panic into an error, with the stack on stderr.
func (c *call) guarded(work func() ([]byte, error)) (document []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			c.log.log(slog.LevelError, "recovered from a panic", slog.String("panic", fmt.Sprint(r)), slog.String("stack", string(debug.Stack())))
			document, err = nil, fmt.Errorf("%w: %v", errPanic, r)
		}
	}()
	return work()
}

// attach opens the sandbox for the repair.
func (c *call) attach() ([]byte, error) {
	s, err := c.open(within(readTime), c.Netns)
	if err == nil {
		defer s.Close()
		if s.IsCurrent() && !c.ownNamespace {
			return nil, errOwnNamespace
		}
	}
	if formatWithoutInterfaces(c.CNIVersion) {
		c.log.log(slog.LevelDebug, "left the Result alone", slog.String("reason",
			"the format of CNI "+c.CNIVersion+" has no interfaces; raise the conflist's cniVersion to 0.3.1 or later"))
		return c.prev, nil
	}
	return c.repair(s, err)
}

// repair gives the repaired Result, in the bytes of prevResult when it is right.
// s is the sandbox, unless it could not be opened.
func (c *call) repair(s *sandbox.Sandbox, unopened error) ([]byte, error) {
	if err := c.supported(); err != nil {
		return nil, err
	}
	prev, err := enrich.Parse(c.prev, c.CNIVersion)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDecoding, err)
	}
	opts := enrich.Options{Gateways: c.config.Gateways}
	obs := enrich.Observation{Err: unopened}
	if unopened == nil {
		obs = s.Look(prev, c.Call, opts)
		s.Close()
	}
	outcome := enrich.Apply(prev, c.Call, obs, opts)
	if err := outcome.Failure(); err != nil && c.config.FailurePolicy == PolicyFail {
		return nil, err
	}
	document := []byte(c.prev)
	if len(outcome.Repairs) > 0 || prev.Version != c.CNIVersion {
		if document, err = enrich.Encode(outcome.Result, c.CNIVersion); err != nil {
			return nil, fmt.Errorf("%w: %w", errDecoding, err)
		}
	}
	c.log.outcome(outcome)
	return document, nil
}

// deadline is a context that ends by the clock, and that nobody waits for: the
// timer of context.WithTimeout costs a start of the plugin two threads.
type deadline struct {
	context.Context
	at time.Time
}

func within(d time.Duration) deadline {
	return deadline{context.Background(), time.Now().Add(d)}
}

// Deadline is the time by which all reading has to end.
func (d deadline) Deadline() (time.Time, bool) { return d.at, true }

func (c *call) supported() error {
	if supported := version.All.SupportedVersions(); !slices.Contains(supported, c.CNIVersion) {
		return fmt.Errorf("%w: the configuration has %q, supported are %s",
			errVersion, c.CNIVersion, strings.Join(supported, ", "))
	}
	return nil
}

// check is CHECK. Under the policy "ignore" it only warns: CRI-O runs it right
// after ADD, and Nomad destroys the namespace when it fails.
func (c *call) check() error {
	if below(c.CNIVersion, "0.4.0") {
		return fmt.Errorf("%w: %s has no CHECK", errVersion, c.CNIVersion)
	}
	_, err := c.guarded(func() ([]byte, error) { return nil, c.stillTrue() })
	if err != nil && c.config.FailurePolicy == PolicyIgnore {
		c.log.log(slog.LevelWarn, "the pod's interface is not as ADD left it", slog.String("error", err.Error()))
		return nil
	}
	return err
}

// stillTrue compares the pod's entry of prevResult with the sandbox. Only name
// and mac count: KubeVirt moves the addresses and leaves a dummy with both.
func (c *call) stillTrue() error {
	if c.prev == nil {
		return nil
	}
	if err := c.supported(); err != nil {
		return err
	}
	prev, err := enrich.Parse(c.prev, c.CNIVersion)
	if err != nil {
		return fmt.Errorf("%w: %w", errDecoding, err)
	}
	spellings := enrich.OtherSandboxes(prev, c.Call)
	if enrich.OwnEntry(prev, c.Call, spellings) == nil {
		// Nothing to compare, whether the sandbox is still there or not.
		return nil
	}
	s, err := c.open(within(readTime), c.Netns)
	if err != nil {
		return err
	}
	defer s.Close()
	entry := enrich.OwnEntry(prev, c.Call, s.Same(spellings))
	if entry == nil {
		return nil
	}
	mac, err := s.MAC(c.IfName)
	if err != nil {
		return err
	}
	if enrich.IsMAC(entry.Mac) && !enrich.SameMAC(entry.Mac, mac) {
		return fmt.Errorf("%w: %q has %s, prevResult says %s", errMACDiffers, c.IfName, mac, entry.Mac)
	}
	return nil
}

// below reports whether a is an older version than b; what is no version is not.
func below(a, b string) bool {
	atLeast, err := version.GreaterThanOrEqualTo(a, b)
	return err == nil && !atLeast
}
