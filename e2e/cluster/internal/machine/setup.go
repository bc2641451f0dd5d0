// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Uplink is the private machine's way out: a link with addresses and default routes, and the
// master for macvlan networks. Nothing answers at its other end.
const Uplink = "uplink0"

// NodeIP is the address of the uplink. A kubelet refuses loopback addresses.
var NodeIP = net.IPv4(192, 0, 2, 10)

// private are the directories that components hard-code. They exist on every
// Linux system, so no mount point has to be made on the host.
var private = []string{"/var/lib", "/var/log", "/run"}

// sysctls are those that a kubelet writes at its start and that belong to no namespace.
var sysctls = []string{
	"kernel/keys/root_maxbytes",
	"kernel/keys/root_maxkeys",
	"kernel/panic",
	"kernel/panic_on_oops",
	"vm/overcommit_memory",
	"vm/panic_on_oom",
}

func setUp() error {
	if err := unix.Sethostname([]byte(Hostname)); err != nil {
		return fmt.Errorf("set hostname: %w", err)
	}
	if err := setUpMounts(); err != nil {
		return err
	}
	return setUpNetwork()
}

func setUpMounts() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make all mounts private: %w", err)
	}
	for _, dir := range private {
		if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755"); err != nil {
			return fmt.Errorf("mount a private %s: %w", dir, err)
		}
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount the new PID namespace's /proc: %w", err)
	}
	// A new sysfs shows the new network namespace, but no cgroups: carry those over.
	const aside = "/run/cgroup"
	if err := os.Mkdir(aside, 0o755); err != nil {
		return fmt.Errorf("create mount point: %w", err)
	}
	if err := unix.Mount("/sys/fs/cgroup", aside, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("put the cgroup file systems aside: %w", err)
	}
	if err := unix.Mount("sysfs", "/sys", "sysfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount the new network namespace's /sys: %w", err)
	}
	if err := unix.Mount(aside, "/sys/fs/cgroup", "", unix.MS_MOVE, ""); err != nil {
		return fmt.Errorf("move the cgroup file systems back: %w", err)
	}
	return hideSysctls()
}

// hideSysctls puts files in the place of the host's settings: a component that
// writes to them finds what it has written, and the host stays as it is.
func hideSysctls() error {
	for _, name := range sysctls {
		setting, copied := filepath.Join("/proc/sys", name), filepath.Join("/run/sysctl", name)
		value, err := os.ReadFile(setting)
		if err != nil {
			return fmt.Errorf("read sysctl: %w", err)
		}
		if err := os.MkdirAll(filepath.Dir(copied), 0o755); err != nil {
			return fmt.Errorf("copy sysctl: %w", err)
		}
		if err := os.WriteFile(copied, value, 0o644); err != nil {
			return fmt.Errorf("copy sysctl: %w", err)
		}
		if err := unix.Mount(copied, setting, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("mount a copy of %s: %w", setting, err)
		}
	}
	return nil
}

func setUpNetwork() error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("find lo: %w", err)
	}
	if err := netlink.LinkSetUp(lo); err != nil {
		return fmt.Errorf("set lo up: %w", err)
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name = Uplink
	if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: "wire0"}); err != nil {
		return fmt.Errorf("create %s: %w", Uplink, err)
	}
	var uplink netlink.Link
	for _, name := range []string{"wire0", Uplink} {
		if uplink, err = netlink.LinkByName(name); err != nil {
			return fmt.Errorf("find %s: %w", name, err)
		}
		if err := netlink.LinkSetUp(uplink); err != nil {
			return fmt.Errorf("set %s up: %w", name, err)
		}
	}
	for _, address := range []*net.IPNet{
		{IP: NodeIP, Mask: net.CIDRMask(24, 32)},
		{IP: net.ParseIP("2001:db8::10"), Mask: net.CIDRMask(64, 128)},
	} {
		// No wait for duplicate address detection: nobody else is on this wire.
		if err := netlink.AddrAdd(uplink, &netlink.Addr{IPNet: address, Flags: unix.IFA_F_NODAD}); err != nil {
			return fmt.Errorf("add %s to %s: %w", address, Uplink, err)
		}
	}
	for _, gateway := range []net.IP{net.IPv4(192, 0, 2, 1), net.ParseIP("2001:db8::1")} {
		if err := netlink.RouteAdd(&netlink.Route{LinkIndex: uplink.Attrs().Index, Gw: gateway}); err != nil {
			return fmt.Errorf("add default route via %s: %w", gateway, err)
		}
	}
	return nil
}
