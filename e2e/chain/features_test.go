// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	. "github.com/onsi/ginkgo/v2"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/result-enricher/result-enricher/internal/podns"
)

// feature is something that a plugin needs of the kernel, and that a kernel may have been built without. It is tried
// out in a scratch namespace. Only the kernel's plain refusal of the feature counts as missing; whatever else goes wrong
// lets the specs run and fail.
type feature struct {
	name string
	try  func(scratch *podns.NS) error
}

var (
	vethLink    = feature{"veth links", addLink(netlink.NewVeth(netlink.LinkAttrs{Name: "try"}))}
	bridgeLink  = feature{"bridge links", addLink(&netlink.Bridge{LinkAttrs: netlink.NewLinkAttrs()})}
	ifbLink     = feature{"ifb links", addLink(&netlink.Ifb{LinkAttrs: netlink.NewLinkAttrs()})}
	macvlanLink = feature{"macvlan links", addMacvlan}
	shaping     = feature{"tbf and ingress queues, u32 filters and mirred actions", addQueues}
	natRules    = feature{"nftables with NAT", addNATRules}
)

// missing says what this kernel lacks, for the report.
var missing []string

// tried remembers the outcome by name.
var tried = map[string]bool{}

// present tries the feature out, once. It is called while ginkgo builds the tree, when there is no spec to fail.
func (f feature) present() bool {
	has, known := tried[f.name]
	if known {
		return has
	}
	scratch, err := podns.New("/run/netns/try")
	if err != nil {
		panic(err)
	}
	defer func() {
		if err := scratch.Close(); err != nil {
			panic(err)
		}
	}()
	err = f.try(scratch)
	has = !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, errRefused)
	if !has {
		missing = append(missing, fmt.Sprintf("%s (%v)", f.name, err))
	}
	tried[f.name] = has
	return has
}

// reportMissing puts into the report what the kernel lacks.
func reportMissing() {
	for _, text := range missing {
		AddReportEntry("not run, because this kernel has no "+text, ReportEntryVisibilityAlways)
	}
	if _, err := exec.LookPath("nft"); err != nil {
		AddReportEntry("portmap was not run, because the nft command is not installed", ReportEntryVisibilityAlways)
	}
}

func addLink(link netlink.Link) func(*podns.NS) error {
	link.Attrs().Name = "try"
	return func(scratch *podns.NS) error { return scratch.Netlink.LinkAdd(link) }
}

func addMacvlan(scratch *podns.NS) error {
	master := netlink.NewVeth(netlink.LinkAttrs{Name: "try-master"})
	if err := scratch.Netlink.LinkAdd(master); err != nil {
		return err
	}
	link, err := scratch.Netlink.LinkByName("try-master")
	if err != nil {
		return err
	}
	macvlan := &netlink.Macvlan{LinkAttrs: netlink.NewLinkAttrs(), Mode: netlink.MACVLAN_MODE_BRIDGE}
	macvlan.Name, macvlan.ParentIndex = "try", link.Attrs().Index
	return scratch.Netlink.LinkAdd(macvlan)
}

// addQueues makes what the bandwidth plugin makes. A queue or filter that is not built in is refused with ENOENT.
func addQueues(scratch *podns.NS) error {
	lo, err := scratch.Netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	index := lo.Attrs().Index
	tbf := &netlink.Tbf{
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT},
		Rate:       1 << 20, Limit: 1 << 16, Buffer: 1 << 16,
	}
	ingress := &netlink.Ingress{QdiscAttrs: netlink.QdiscAttrs{
		LinkIndex: index, Handle: netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_INGRESS,
	}}
	filter := &netlink.U32{
		FilterAttrs: netlink.FilterAttrs{
			LinkIndex: index, Parent: ingress.Handle, Priority: 1, Protocol: unix.ETH_P_ALL,
		},
		Actions: []netlink.Action{netlink.NewMirredAction(index)},
	}
	err = errors.Join(scratch.Netlink.QdiscAdd(tbf), scratch.Netlink.QdiscAdd(ingress), scratch.Netlink.FilterAdd(filter))
	if errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	return err
}

// errRefused: the kernel says that it does not have the feature.
var errRefused = errors.New("refused")

const ruleset = `
table ip try {
	chain in { type nat hook prerouting priority dstnat; tcp dport 80 dnat to 192.0.2.1:80; }
	chain out { type nat hook postrouting priority srcnat; masquerade; }
}
`

// addNATRules runs nft, where it is installed, in the scratch namespace.
func addNATRules(scratch *podns.NS) error {
	nft, err := exec.LookPath("nft")
	if err != nil {
		return nil //nolint:nilerr // that is no fault of the kernel's
	}
	return inside(scratch, func() error {
		cmd := exec.Command(nft, "-f", "-")
		cmd.Stdin = strings.NewReader(ruleset)
		out, err := cmd.CombinedOutput()
		text := strings.TrimSpace(string(out))
		if strings.Contains(text, "Operation not supported") || strings.Contains(text, "No such file or directory") {
			return fmt.Errorf("%w: %s", errRefused, text)
		}
		return err
	})
}

// inCI: what cannot run for want of a program is a failure there.
func inCI() bool { return os.Getenv("CI") != "" }
