// SPDX-License-Identifier: Apache-2.0

package drivers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/containernetworking/cni/libcni"
	types100 "github.com/containernetworking/cni/pkg/types/100"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/result-enricher/result-enricher/internal/podns"
)

// object is a JSON object.
type object = map[string]any

// The entries of the chains. What they keep in files goes to a directory of the spec.
func ptp(leases string) object {
	return object{
		"type": "ptp", "mtu": 1420, "dns": object{"nameservers": []string{"192.0.2.53", "192.0.2.54"}, "domain": "example"},
		"ipam": object{
			"type": "host-local", "dataDir": leases, "subnet": "192.168.127.0/24", "routes": []object{{"dst": "0.0.0.0/0"}},
		},
	}
}

var (
	calicoShaped = object{"type": "calico-shaped", "addresses": []string{"10.135.153.140/32"}}
	enricher     = object{"type": "result-enricher", "gateways": true}
)

// conflist is a network's configuration.
func conflist(name, version string, plugins ...object) []byte {
	GinkgoHelper()
	raw, err := json.Marshal(object{"cniVersion": version, "name": name, "plugins": plugins})
	Expect(err).NotTo(HaveOccurred())
	return raw
}

// newPod is a namespace at the path that Nomad would give it. IPv6 is off, so that ptp has no duplicate to wait for.
func newPod(id string) *podns.NS {
	GinkgoHelper()
	ns, err := podns.New("/run/netns/" + id)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(ns.Close)
	return ns
}

// add runs a chain through libcni, as the Firecracker SDK does, and takes it down after the spec.
func add(ns *podns.NS, id string, list []byte) *types100.Result {
	GinkgoHelper()
	loaded, err := libcni.ConfListFromBytes(list)
	Expect(err).NotTo(HaveOccurred())
	cni := libcni.NewCNIConfig([]string{binDir}, nil)
	rt := &libcni.RuntimeConf{ContainerID: id, NetNS: ns.Path, IfName: "eth0"}
	result, err := cni.AddNetworkList(context.Background(), loaded, rt)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(cni.DelNetworkList(context.Background(), loaded, rt)).To(Succeed()) })
	newest, err := types100.NewResultFromResult(result)
	Expect(err).NotTo(HaveOccurred())
	return newest
}

// pod is the pod's interface as the kernel has it, and the host's end of it, looked up by its index.
func pod(ns *podns.NS) (mac, hostDevice string) {
	GinkgoHelper()
	link, err := ns.Netlink.LinkByName("eth0")
	Expect(err).NotTo(HaveOccurred())
	peer, err := netlink.LinkByIndex(link.Attrs().ParentIndex)
	Expect(err).NotTo(HaveOccurred())
	return link.Attrs().HardwareAddr.String(), peer.Attrs().Name
}

// run is one run of enrichctl, without the variables of whoever runs the tests.
func run(stdin string, args ...string) (stdout, stderr string, code int) {
	GinkgoHelper()
	cmd := exec.Command(filepath.Join(binDir, "enrichctl"), args...)
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "ENRICHCTL_") {
			cmd.Env = append(cmd.Env, pair)
		}
	}
	var out, errOut bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errOut
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		Expect(errors.As(err, &exit)).To(BeTrue(), err)
	}
	return out.String(), errOut.String(), cmd.ProcessState.ExitCode()
}

// messages are the texts of a log in JSON.
func messages(log string) []string {
	GinkgoHelper()
	texts := []string{}
	for line := range strings.Lines(log) {
		var record struct{ Msg string }
		Expect(json.Unmarshal([]byte(line), &record)).To(Succeed(), line)
		texts = append(texts, record.Msg)
	}
	return texts
}

// mayMakeTaps is false for an ordinary user where the device is root's.
func mayMakeTaps() bool { return unix.Access("/dev/net/tun", unix.W_OK) == nil }
