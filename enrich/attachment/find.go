// SPDX-License-Identifier: Apache-2.0

package attachment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// DefaultCacheDirs are where runtimes and multus keep Results.
func DefaultCacheDirs() []string {
	return []string{"/var/lib/cni/results", "/var/lib/cni/multus/results"}
}

// Option is a choice for [Find], [One] and [List].
type Option func(*options)

type options struct {
	cacheDirs []string
	netns     string
	ifName    string
}

// WithCacheDirs replaces [DefaultCacheDirs]. In each directory the files are
// read, and those of results/ below it, so that it can be what was given to
// libcni. Of attachments of the same container and interface that of a later
// directory counts: multus's own says more than the runtime's about multus.
func WithCacheDirs(dirs ...string) Option {
	return func(o *options) { o.cacheDirs = slices.Clone(dirs) }
}

// WithNetns says where the network namespace is, for a caller who knows. It is
// needed for what libcni before v1.3 wrote about plugins such as Calico's: neither
// the file nor the Result names the namespace then.
func WithNetns(path string) Option {
	return func(o *options) { o.netns = path }
}

// WithInterface keeps only attachments of that interface name (CNI_IFNAME).
func WithInterface(name string) Option {
	return func(o *options) { o.ifName = name }
}

func newOptions(opts []Option) options {
	o := options{cacheDirs: DefaultCacheDirs()}
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// Find gives every attachment of a container, by interface name.
//
// The error is ErrNotFound when there is none. Besides, what could be read is
// returned together with an error: ErrUnreadable for files of that container, and
// for directories, that could not be read, ErrIncomplete for a namespace that
// could not be inspected.
func Find(ctx context.Context, containerID string, opts ...Option) ([]Attachment, error) {
	if containerID == "" {
		return nil, fmt.Errorf("%w: the container ID is empty", ErrNotFound)
	}
	o := newOptions(opts)
	attachments, err := o.list(ctx, containerID)
	if len(attachments) == 0 && err == nil {
		err = fmt.Errorf("%w for container %q%s in %s", ErrNotFound, containerID, o.interfaceToo(), strings.Join(o.cacheDirs, ", "))
	}
	errs := []error{err}
	for _, a := range attachments {
		errs = append(errs, a.Incomplete)
	}
	return attachments, errors.Join(errs...)
}

// One is Find for a container with one attachment. The error is ErrSeveral, and
// names them, when it has more; choose with [WithInterface].
func One(ctx context.Context, containerID string, opts ...Option) (Attachment, error) {
	attachments, err := Find(ctx, containerID, opts...)
	if len(attachments) > 1 {
		names := make([]string, len(attachments))
		for i, a := range attachments {
			names[i] = a.Interface + " of network " + a.Network
		}
		return Attachment{}, fmt.Errorf("%w for container %q: %s", ErrSeveral, containerID, strings.Join(names, ", "))
	}
	if len(attachments) == 0 {
		return Attachment{}, err
	}
	return attachments[0], err
}

// List gives every attachment of the node, by container and interface. Those
// whose namespace could not be inspected say so ([Attachment.Incomplete]); the
// error is ErrUnreadable, and the rest is returned all the same.
func List(ctx context.Context, opts ...Option) ([]Attachment, error) {
	o := newOptions(opts)
	return o.list(ctx, "")
}

// interfaceToo is what a message adds when only one interface was asked for.
func (o options) interfaceToo() string {
	if o.ifName == "" {
		return ""
	}
	return " and interface " + o.ifName
}

// list reads the attachments of one container, or of all.
func (o options) list(ctx context.Context, containerID string) ([]Attachment, error) {
	records, err := readCache(o.cacheDirs, containerID)
	errs := []error{err}
	var attachments []Attachment
	for _, r := range records {
		if o.ifName != "" && r.ifName != o.ifName {
			continue
		}
		a, err := o.complete(ctx, r)
		if err != nil {
			errs = append(errs, fmt.Errorf("%w: %s: %w", ErrUnreadable, r.path, err))
			continue
		}
		attachments = append(attachments, a)
	}
	slices.SortFunc(attachments, func(a, b Attachment) int {
		return cmp.Or(cmp.Compare(a.ContainerID, b.ContainerID),
			cmp.Compare(a.Interface, b.Interface), cmp.Compare(a.Network, b.Network))
	})
	return attachments, errors.Join(errs...)
}
