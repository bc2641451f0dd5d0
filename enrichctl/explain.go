// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	types100 "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/utils"
	"github.com/spf13/cobra"

	"github.com/result-enricher/result-enricher/enrich"
	"github.com/result-enricher/result-enricher/enrich/attachment"
	"github.com/result-enricher/result-enricher/enrichctl/internal/explanation"
	"github.com/result-enricher/result-enricher/enrichctl/internal/screen"
)

type explain struct {
	*app
	places      *places
	netns       pathValue
	containerID string
	ifName      string
	result      string
	entry       entryValue
	output      *outputValue
}

func newExplain(a *app) *cobra.Command {
	e := &explain{app: a, places: newPlaces(), output: newOutput("text", "json")}
	cmd := &cobra.Command{
		Use:   "explain (--netns PATH | --container-id ID)",
		Short: "What does the plugin make of a Result, and what do its consumers?",
		Long: `explain runs the repair on a live sandbox without changing anything. It shows the Result before and after, each
repair with its rule and reason, and what containerd, multus, Firecracker and Nomad make of both.

The Result is the one that libcni cached for the container, which is already repaired where the plugin is in
the chain; --result gives another, as a plugin prints it for ADD. An --ifname other than eth0 counts as that
of a secondary network.`,
		Example: `  enrichctl explain --container-id 3f0c9d1b
  enrichctl explain --netns /run/netns/cni-5f71 --result result.json
  cnitool add pods /run/netns/test | enrichctl explain --netns /run/netns/test --result -
  enrichctl explain --container-id 3f0c9d1b --plugin-config '{"gateways": true}' -o json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return e.run(cmd.Context()) },
	}
	if err := e.entry.Set("{}"); err != nil {
		panic(err) // no input is involved
	}
	flags := cmd.Flags()
	flags.Var(&e.netns, "netns", "path of the network namespace")
	flags.StringVar(&e.containerID, "container-id", "", "ID of the container, or the beginning of it when it is cached")
	flags.StringVar(&e.ifName, "ifname", "eth0", "name of the interface in the container")
	flags.StringVar(&e.result, "result", "", "file with the Result, - for stdin (default: libcni's cache)")
	flags.Var(&e.entry, "plugin-config", "settings of the plugin")
	e.places.addCacheDirs(flags)
	flags.VarP(e.output, "output", "o", "text or json")
	return cmd
}

func (e *explain) run(ctx context.Context) error {
	if e.netns.path == "" && e.containerID == "" {
		return usagef("explain needs --netns or --container-id")
	}
	if err := utils.ValidateInterfaceName(e.ifName); err != nil {
		return usagef("--ifname: %w", err)
	}
	if e.containerID != "" {
		if err := utils.ValidateContainerID(e.containerID); err != nil {
			return usagef("--container-id: %w", err)
		}
	}
	subject, err := e.subject(ctx)
	if err != nil {
		return err
	}
	told, err := explanation.Explain(ctx, subject)
	if err != nil {
		return err
	}
	if e.output.text == "json" {
		return e.printJSON(told)
	}
	s := screen.New(e.stdout, e.getenv)
	told.Render(s)
	return s.Err()
}

// subject puts together what the flags say and what the cache knows.
func (e *explain) subject(ctx context.Context) (explanation.Subject, error) {
	subject := explanation.Subject{
		Call:   enrich.Call{IfName: e.ifName, ContainerID: e.containerID},
		Config: e.entry.entry,
	}
	cached, cacheErr := e.cached(ctx)
	if cacheErr == nil {
		subject.ContainerID, subject.Network, subject.CNIVersion = cached.ContainerID, cached.Network, cached.CNIVersion
		subject.Result = cached.Result
	}
	if e.result != "" {
		raw, err := e.read()
		if err != nil {
			return subject, err
		}
		subject.Result = raw
		subject.CNIVersion = versionOf(raw, subject.CNIVersion)
	} else if cacheErr != nil {
		return subject, fmt.Errorf("%w; give the Result with --result", cacheErr)
	}
	subject.Netns = spelling(e.netns.path, cached.Netns, subject.Result)
	if subject.Netns == "" {
		return subject, errors.Join(cacheErr, errors.New("where the namespace is, nobody says; give it with --netns"))
	}
	if subject.ContainerID == "" {
		subject.ContainerID = cnitoolID(subject.Netns)
	}
	return subject, nil
}

// cached is the attachment that the flags mean.
func (e *explain) cached(ctx context.Context) (attachment.Attachment, error) {
	opts := []attachment.Option{attachment.WithCacheDirs(e.places.cacheDirs.list()...), attachment.WithInterface(e.ifName)}
	if e.containerID == "" {
		return inNamespace(ctx, e.netns.path, opts)
	}
	all, err := findContainer(ctx, e.containerID, opts...)
	if len(all) == 0 {
		return attachment.Attachment{}, err
	}
	if len(all) > 1 {
		return attachment.Attachment{}, fmt.Errorf("%w of interface %s for container %q, of the networks %s and %s",
			attachment.ErrSeveral, e.ifName, e.containerID, all[0].Network, all[1].Network)
	}
	// What is incomplete about it, the explanation will say.
	return all[0], nil
}

// spelling is how the runtime spelled the path of the namespace, when somebody
// knows: the Result's sandboxes are compared with it as strings. /run and /var/run
// are often the same.
func spelling(given, cached string, raw []byte) string {
	if given == "" {
		return cached
	}
	var result struct {
		Interfaces []struct {
			Sandbox string `json:"sandbox"`
		} `json:"interfaces"`
	}
	spellings := []string{cached}
	// What is no Result is told when it is explained.
	if err := json.Unmarshal(raw, &result); err == nil {
		for _, e := range result.Interfaces {
			spellings = append(spellings, e.Sandbox)
		}
	}
	for _, path := range spellings {
		if sameFile(given, path) {
			return path
		}
	}
	return given
}

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// inNamespace is the attachment whose namespace is that at path.
func inNamespace(ctx context.Context, path string, opts []attachment.Option) (attachment.Attachment, error) {
	// Other containers' files may be broken.
	all, _ := attachment.List(ctx, opts...)
	all = slices.DeleteFunc(all, func(a attachment.Attachment) bool {
		return !sameFile(a.Netns, path)
	})
	if len(all) != 1 {
		return attachment.Attachment{}, fmt.Errorf("%d Results are cached for namespace %s and that interface", len(all), path)
	}
	return all[0], nil
}

func (e *explain) read() ([]byte, error) {
	read := func() ([]byte, error) { return os.ReadFile(e.result) }
	if e.result == "-" {
		read = func() ([]byte, error) { return io.ReadAll(e.stdin) }
	}
	raw, err := read()
	if err != nil {
		return nil, fmt.Errorf("read the Result: %w", err)
	}
	return raw, nil
}

// versionOf is the Result's own version, which is its configuration's unless
// somebody converted it; a Result that says none has that of the cache.
func versionOf(raw []byte, cached string) string {
	var head struct {
		CNIVersion string `json:"cniVersion"`
	}
	// What is no Result is told when it is explained.
	if err := json.Unmarshal(raw, &head); err == nil && head.CNIVersion != "" {
		return head.CNIVersion
	}
	if cached != "" {
		return cached
	}
	return types100.ImplementedSpecVersion
}

// cnitoolID is the container ID that cnitool uses for a namespace.
func cnitoolID(netns string) string {
	sum := sha512.Sum512([]byte(netns))
	return "cnitool-" + hex.EncodeToString(sum[:10])
}
