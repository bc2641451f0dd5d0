// SPDX-License-Identifier: Apache-2.0

package explanation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"

	"github.com/containernetworking/cni/pkg/types"

	"github.com/result-enricher/result-enricher/enrich"
	"github.com/result-enricher/result-enricher/enrich/consumer"
	"github.com/result-enricher/result-enricher/enrich/sandbox"
	"github.com/result-enricher/result-enricher/enrich/sandbox/inspect"
	"github.com/result-enricher/result-enricher/plugin"
)

// Subject is what is to be explained.
type Subject struct {
	enrich.Call
	// Network is the network's name, for the annotation.
	Network string
	// Result is a JSON document.
	Result []byte
	// Config is the plugin's entry of a conflist.
	Config []byte
}

// Explanation is what came of it. Its JSON is the output for programs.
type Explanation struct {
	CNIVersion  string `json:"cniVersion"`
	Network     string `json:"network,omitempty"`
	ContainerID string `json:"containerID"`
	Netns       string `json:"netns"`
	IfName      string `json:"ifname"`
	// Link is the pod link, null when the sandbox has none.
	Link *Link `json:"link"`
	// Before is the Result as it was given.
	Before json.RawMessage `json:"before"`
	// After is what ADD answers, null when it fails.
	After json.RawMessage `json:"after"`
	// Failure is the CNI error with which ADD fails.
	Failure *types.Error    `json:"failure,omitempty"`
	Repairs []enrich.Repair `json:"repairs"`
	// LeftAlone says why the rules did not run.
	LeftAlone string `json:"leftAlone,omitempty"`
	Consumers []View `json:"consumers"`
}

// Link is the pod link as the kernel has it.
type Link struct {
	Kind       string         `json:"kind"`
	MAC        string         `json:"mac"`
	MTU        int            `json:"mtu"`
	Addresses  []netip.Prefix `json:"addresses"`
	Gateways   []netip.Addr   `json:"gateways"`
	HostDevice string         `json:"hostDevice,omitempty"`
}

// View is what one consumer makes of the Result before and after.
type View struct {
	Consumer string              `json:"consumer"`
	Before   consumer.Prediction `json:"before"`
	// After is null when ADD fails, for then nobody gets a Result.
	After *consumer.Prediction `json:"after"`
}

// Explain looks into the sandbox and runs the repair. An error says that there
// is nothing to explain: no namespace, or the own one.
func Explain(ctx context.Context, subject Subject) (*Explanation, error) {
	if !json.Valid(subject.Result) {
		return nil, errors.New("decode the Result: it is not one JSON document; give what a plugin prints for ADD")
	}
	s, err := sandbox.Open(ctx, subject.Netns)
	if err != nil {
		return nil, fmt.Errorf("%w; is the container running, and is this root?", err)
	}
	defer s.Close()
	if s.IsCurrent() {
		return nil, fmt.Errorf("look into %s: it is this process's own network namespace; give that of a container", subject.Netns)
	}
	e := &Explanation{
		CNIVersion: subject.CNIVersion, Network: subject.Network, ContainerID: subject.ContainerID,
		Netns: subject.Netns, IfName: subject.IfName, Before: subject.Result, Repairs: []enrich.Repair{},
	}
	if e.Link, err = look(ctx, subject); err != nil {
		return nil, err
	}
	if err := e.rules(s, subject); err != nil {
		return nil, err
	}
	if err := e.answer(subject); err != nil {
		return nil, err
	}
	e.consumers()
	return e, nil
}

func look(ctx context.Context, subject Subject) (*Link, error) {
	in, err := inspect.Open(ctx, subject.Netns)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	found, err := in.Interface(subject.IfName)
	if errors.Is(err, sandbox.ErrNoLink) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	link := &Link{
		Kind: found.Kind, MAC: found.MAC, MTU: found.MTU, HostDevice: found.HostDevice,
		Addresses: append([]netip.Prefix{}, found.Addresses...), Gateways: []netip.Addr{},
	}
	for _, route := range found.Routes {
		if route.Destination.Bits() == 0 && route.Gateway.IsValid() && !slices.Contains(link.Gateways, route.Gateway) {
			link.Gateways = append(link.Gateways, route.Gateway)
		}
	}
	return link, nil
}

// rules records the repairs, or why there are none.
func (e *Explanation) rules(s *sandbox.Sandbox, subject Subject) error {
	config, err := plugin.ParseConfig(subject.Config)
	if err != nil {
		return err
	}
	if subject.CNIVersion == "0.1.0" || subject.CNIVersion == "0.2.0" {
		e.LeftAlone = "the format of CNI " + subject.CNIVersion + " has no interfaces; raise the conflist's cniVersion"
		return nil
	}
	prev, err := enrich.Parse(subject.Result, subject.CNIVersion)
	if err != nil {
		e.LeftAlone = err.Error()
		return nil //nolint:nilerr // a Result that does not decode is explained, too
	}
	opts := enrich.Options{Gateways: config.Gateways}
	outcome := enrich.Apply(prev, subject.Call, s.Look(prev, subject.Call, opts), opts)
	e.Repairs = append(e.Repairs, outcome.Repairs...)
	if outcome.LeftAlone != nil {
		e.LeftAlone = outcome.LeftAlone.Error()
	}
	return nil
}

// answer runs the plugin's ADD in this process. Its log goes nowhere, not even
// to the file of its configuration.
func (e *Explanation) answer(subject Subject) error {
	stdin, err := stdin(subject)
	if err != nil {
		return err
	}
	environment := map[string]string{
		"CNI_COMMAND": "ADD", "CNI_CONTAINERID": subject.ContainerID, "CNI_NETNS": subject.Netns, "CNI_IFNAME": subject.IfName,
	}
	var stdout bytes.Buffer
	code := plugin.Main(plugin.Process{
		Getenv: func(key string) string { return environment[key] },
		Stdin:  bytes.NewReader(stdin), Stdout: &stdout, Stderr: io.Discard, Open: sandbox.Open,
	})
	if code == 0 {
		e.After = stdout.Bytes()
		return nil
	}
	// A Result that was not handed on was not repaired either.
	e.Failure, e.Repairs = &types.Error{}, []enrich.Repair{}
	if err := json.Unmarshal(stdout.Bytes(), e.Failure); err != nil {
		return fmt.Errorf("decode the plugin's error %q: %w", stdout.String(), err)
	}
	return nil
}

// stdin is the configuration as a runtime hands it to the plugin, with the bytes
// of the Result as they are.
func stdin(subject Subject) ([]byte, error) {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(subject.Config, &keys); err != nil {
		return nil, fmt.Errorf("decode the plugin's configuration: %w", err)
	}
	delete(keys, "logFile")
	for key, value := range map[string]string{"cniVersion": subject.CNIVersion, "name": subject.Network, "type": plugin.Name} {
		quoted, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", key, err)
		}
		keys[key] = quoted
	}
	config, err := json.Marshal(keys)
	if err != nil {
		return nil, fmt.Errorf("encode the plugin's configuration: %w", err)
	}
	return slices.Concat([]byte(`{"prevResult":`), subject.Result, []byte(","), config[1:]), nil
}

func (e *Explanation) consumers() {
	c := consumer.Context{
		CNIVersion: e.CNIVersion, Network: e.Network, ContainerID: e.ContainerID, IfName: e.IfName, Netns: e.Netns,
		Secondary: e.IfName != "eth0",
	}
	var after []consumer.Prediction
	if e.After != nil {
		after = consumer.Predict(e.After, c)
	}
	for i, before := range consumer.Predict(e.Before, c) {
		view := View{Consumer: before.Consumer, Before: before}
		if after != nil {
			view.After = &after[i]
		}
		e.Consumers = append(e.Consumers, view)
	}
}
