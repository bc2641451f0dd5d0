// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/result-enricher/result-enricher/enrich/attachment"
	"github.com/result-enricher/result-enricher/enrichctl/internal/listing"
	"github.com/result-enricher/result-enricher/enrichctl/internal/microvm"
	"github.com/result-enricher/result-enricher/enrichctl/internal/screen"
)

type show struct {
	*app
	places *places
	ifName string
	output *outputValue
}

func newShow(a *app) *cobra.Command {
	s := &show{app: a, places: newPlaces(), output: newOutput("text", "json", "firecracker")}
	cmd := &cobra.Command{
		Use:   "show [CONTAINER-ID]",
		Short: "What did CNI attach to the containers of this node?",
		Long: `show lists the attachments of this node, from libcni's cache and the kernel, or shows those of one container in
full. The ID may be cut off, as other tools do; for Nomad it is the allocation's.

-o firecracker writes the static network configuration of a Firecracker VM, with the names of its Go SDK. An
address whose link-local gateway is on no subnet of it, as Calico's, is translated for the guest, and that is
said on stderr.`,
		Example: `  enrichctl show
  enrichctl show 3f0c9d1b
  enrichctl show f0b4ab5c-2f1c-4f1a-8c0e-4a4a6d0c3b1d -o firecracker`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("show takes one container's ID, and got %q", args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			id := ""
			if len(args) > 0 {
				id = args[0]
			}
			return s.run(cmd.Context(), id)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&s.ifName, "ifname", "", "only the attachments of that interface")
	s.places.addCacheDirs(flags)
	flags.VarP(s.output, "output", "o", "text, json or firecracker")
	return cmd
}

func (s *show) run(ctx context.Context, id string) error {
	if s.output.text == "firecracker" && id == "" {
		return usagef("-o firecracker needs the ID of a container")
	}
	opts := []attachment.Option{attachment.WithCacheDirs(s.places.cacheDirs.list()...)}
	if s.ifName != "" {
		opts = append(opts, attachment.WithInterface(s.ifName))
	}
	if id == "" {
		all, err := attachment.List(ctx, opts...)
		if len(all) == 0 && err != nil {
			return err
		}
		if err != nil {
			s.log.Warn("left out what cannot be read", "error", err)
		}
		return s.print(all, listing.Table)
	}
	all, err := findContainer(ctx, id, opts...)
	switch {
	case len(all) == 0:
		return err
	case s.output.text == "firecracker":
		return errors.Join(s.firecracker(all), err)
	default:
		return errors.Join(s.print(all, listing.Full), err)
	}
}

func (s *show) print(all []attachment.Attachment, render func(*screen.Screen, []attachment.Attachment)) error {
	if s.output.text == "json" {
		return s.printJSON(described(all))
	}
	if len(all) == 0 {
		return s.println("No attachments are cached.")
	}
	out := screen.New(s.stdout, s.getenv)
	render(out, all)
	return out.Err()
}

// description is an attachment with what the library has as an error.
type description struct {
	attachment.Attachment
	Incomplete string `json:"incomplete,omitempty"`
}

func described(all []attachment.Attachment) []description {
	list := make([]description, len(all))
	for i, a := range all {
		list[i].Attachment = a
		if a.Incomplete != nil {
			list[i].Incomplete = a.Incomplete.Error()
		}
	}
	return list
}

// firecracker prints the configuration of the only attachment, or of the only one
// with a tap, and says on stderr what a person should know.
func (s *show) firecracker(all []attachment.Attachment) error {
	chosen := all
	if len(all) > 1 {
		chosen = nil
		for _, a := range all {
			if a.Tap != nil {
				chosen = append(chosen, a)
			}
		}
	}
	if len(chosen) != 1 {
		return fmt.Errorf("%w for container %q, and %d of them have a tap; choose with --ifname",
			attachment.ErrSeveral, all[0].ContainerID, len(chosen))
	}
	configuration, notes, err := microvm.From(chosen[0])
	if err != nil {
		return err
	}
	for _, note := range notes {
		s.log.Warn(note)
	}
	return s.printJSON(configuration)
}
