// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/result-enricher/result-enricher/enrich/attachment"
)

// findContainer is attachment.Find, for an ID or for the beginning of one: people
// copy what other tools cut off. What could be read comes with the error.
func findContainer(ctx context.Context, id string, opts ...attachment.Option) ([]attachment.Attachment, error) {
	found, err := attachment.Find(ctx, id, opts...)
	if !errors.Is(err, attachment.ErrNotFound) {
		return found, err
	}
	// The error of one container's files is no reason not to find another.
	all, _ := attachment.List(ctx, opts...)
	var ids []string
	all = slices.DeleteFunc(all, func(a attachment.Attachment) bool {
		begins := strings.HasPrefix(a.ContainerID, id)
		if begins && !slices.Contains(ids, a.ContainerID) {
			ids = append(ids, a.ContainerID)
		}
		return !begins
	})
	switch len(ids) {
	case 0:
		return nil, err
	case 1:
		return all, incomplete(all)
	default:
		return nil, fmt.Errorf("the IDs of %d cached containers begin with %q; give more of it", len(ids), id)
	}
}

// incomplete says whose namespaces could not be inspected.
func incomplete(all []attachment.Attachment) error {
	errs := make([]error, len(all))
	for i, a := range all {
		errs[i] = a.Incomplete
	}
	return errors.Join(errs...)
}
