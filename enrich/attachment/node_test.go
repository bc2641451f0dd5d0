// SPDX-License-Identifier: Apache-2.0

package attachment_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/version"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/result-enricher/result-enricher/internal/podns"
)

// The container of most specs, as Nomad would name it.
const (
	allocID = "f0b4ab5c-2f1c-4f1a-8c0e-4a4a6d0c3b1d"
	podMAC  = "3a:dd:bc:ad:13:95"
	hostDev = "calie38e7158114"
)

// node is a node with one container, whose interface is as Calico makes it: one
// address of full length, and a gateway that is on no subnet of it.
type node struct {
	cacheDir string
	netns    string
	ns       *podns.NS
}

// newNode makes the container's namespace and an empty cache.
func newNode() (*node, error) {
	cacheDir, err := os.MkdirTemp("", "attachment-")
	if err != nil {
		return nil, err
	}
	n := &node{cacheDir: cacheDir, netns: "/run/netns/" + allocID}
	if n.ns, err = podns.New(n.netns); err != nil {
		return nil, errors.Join(err, n.close())
	}
	err = n.pair("eth0", hostDev, podMAC, "10.135.153.140/32")
	if err == nil {
		err = n.route("eth0", "169.254.1.1")
	}
	if err != nil {
		return nil, errors.Join(err, n.close())
	}
	return n, nil
}

// pair makes a veth pair between the host and the container.
func (n *node) pair(name, host, mac, address string) error {
	hardware, err := net.ParseMAC(mac)
	if err != nil {
		return err
	}
	fd, err := unix.Open(n.netns, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	veth := &netlink.Veth{
		LinkAttrs: netlink.LinkAttrs{Name: host, MTU: 1450}, PeerName: name, PeerMTU: 1450,
		PeerHardwareAddr: hardware, PeerNamespace: netlink.NsFd(fd),
	}
	if err := netlink.LinkAdd(veth); err != nil {
		return err
	}
	link, err := n.ns.Netlink.LinkByName(name)
	if err != nil {
		return err
	}
	addr, err := netlink.ParseAddr(address)
	if err != nil {
		return err
	}
	return errors.Join(n.ns.Netlink.AddrAdd(link, addr), n.ns.Netlink.LinkSetUp(link), netlink.LinkSetUp(veth))
}

// route adds a default route via a gateway that is on no subnet.
func (n *node) route(name, gateway string) error {
	link, err := n.ns.Netlink.LinkByName(name)
	if err != nil {
		return err
	}
	to := &net.IPNet{IP: net.ParseIP(gateway), Mask: net.CIDRMask(32, 32)}
	return errors.Join(
		n.ns.Netlink.RouteAdd(&netlink.Route{LinkIndex: link.Attrs().Index, Dst: to, Scope: netlink.SCOPE_LINK}),
		n.ns.Netlink.RouteAdd(&netlink.Route{
			LinkIndex: link.Attrs().Index, Dst: &net.IPNet{IP: net.IPv4zero, Mask: net.CIDRMask(0, 32)}, Gw: to.IP,
		}),
	)
}

// mayMakeTaps is false for an ordinary user where the device is root's.
func mayMakeTaps() bool { return unix.Access("/dev/net/tun", unix.W_OK) == nil }

// tap makes a tap in the container.
func (n *node) tap(name string, mtu int) error {
	fd, err := unix.Open(n.netns, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	link := &netlink.Tuntap{LinkAttrs: netlink.LinkAttrs{Name: name}, Mode: netlink.TUNTAP_MODE_TAP}
	if err := netlink.LinkAdd(link); err != nil {
		return err
	}
	return errors.Join(netlink.LinkSetMTU(link, mtu), netlink.LinkSetNsFd(link, fd))
}

// add lets libcni run a plugin that answers with result, so that the cache is
// written by libcni. $NETNS in it stands for the namespace.
func (n *node) add(network, ifName, cniVersion, result string) error {
	conf := `{"cniVersion":"` + cniVersion + `","name":"` + network + `","plugins":[{"type":"any"}]}`
	list, err := libcni.ConfListFromBytes([]byte(conf))
	if err != nil {
		return err
	}
	cni := libcni.NewCNIConfigWithCacheDir(nil, n.cacheDir, answer(strings.ReplaceAll(result, "$NETNS", n.netns)))
	_, err = cni.AddNetworkList(context.Background(), list, &libcni.RuntimeConf{
		ContainerID: allocID, NetNS: n.netns, IfName: ifName,
	})
	return err
}

// write puts a file into the cache.
func (n *node) write(name, content string) error {
	dir := filepath.Join(n.cacheDir, "results")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name), []byte(strings.ReplaceAll(content, "$NETNS", n.netns)), 0o600)
}

// close removes the node. The links go with their ends in the namespace, but not
// at once, so the host's are removed first.
func (n *node) close() error {
	var errs []error
	links, err := netlink.LinkList()
	errs = append(errs, err)
	for _, link := range links {
		if link.Type() == "veth" {
			errs = append(errs, netlink.LinkDel(link))
		}
	}
	if n.ns != nil {
		errs = append(errs, n.ns.Close())
	}
	return errors.Join(append(errs, os.RemoveAll(n.cacheDir))...)
}

// answer stands for every plugin: it gives the same Result.
type answer string

func (a answer) ExecPlugin(context.Context, string, []byte, []string) ([]byte, error) {
	return []byte(a), nil
}
func (a answer) FindInPath(plugin string, _ []string) (string, error) { return plugin, nil }
func (a answer) Decode([]byte) (version.PluginInfo, error)            { return version.All, nil }

// What Calico up to v3.30 answers, and what result-enricher makes of it.
const (
	calico = `{"cniVersion":"0.3.1","interfaces":[{"name":"calie38e7158114"}],
		"ips":[{"version":"4","address":"10.135.153.140/32"}],"dns":{}}`
	enriched = `{"cniVersion":"0.3.1","interfaces":[{"name":"calie38e7158114"},
		{"name":"eth0","mac":"3a:dd:bc:ad:13:95","sandbox":"$NETNS"}],
		"ips":[{"version":"4","address":"10.135.153.140/32","interface":1}],"dns":{"nameservers":["10.96.0.10"],"search":["svc.local"]}}`
)
