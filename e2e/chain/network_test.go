// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/containernetworking/cni/pkg/version"
	"github.com/vishvananda/netns"

	"github.com/result-enricher/result-enricher/internal/podns"
)

// object is a JSON object.
type object = map[string]any

var serial atomic.Int64

// newPod is a namespace that lasts as long as the spec.
func newPod() *podns.NS {
	GinkgoHelper()
	ns, err := podns.New(fmt.Sprintf("/run/netns/pod-%d", serial.Add(1)))
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(ns.Close)
	return ns
}

// inside runs f in a pod's namespace, and so do the processes that f starts.
func inside(pod *podns.NS, f func() error) error {
	result := make(chan error)
	go func() {
		// The thread ends with the goroutine: nobody gets it back with the wrong namespace.
		runtime.LockOSThread()
		ns, err := netns.GetFromPath(pod.Path)
		if err == nil {
			err = errors.Join(netns.Set(ns), ns.Close())
		}
		if err == nil {
			err = f()
		}
		result <- err
	}()
	return <-result
}

// newQuickPod is a namespace in which, as on the host, new links do not probe for duplicate IPv6 addresses: the reference
// plugins wait for the end of that, a second or two in each ADD. Where the setting cannot be written they wait.
func newQuickPod() *podns.NS {
	GinkgoHelper()
	const setting = "/proc/sys/net/ipv6/conf/default/accept_dad"
	quicken := func() error { return os.WriteFile(setting, []byte("0"), 0) }
	pod := newPod()
	for where, err := range map[string]error{"on the host": quicken(), "in the pod": inside(pod, quicken)} {
		if err != nil {
			GinkgoWriter.Printf("ADD will take longer, %s %v\n", where, err)
		}
	}
	return pod
}

// network is a conflist on disk and a pod to attach to it with cnitool.
type network struct {
	name    string
	version string
	pod     *podns.NS
	// capabilities is CAP_ARGS, the runtimeConfig of the plugins that ask for it; empty for none.
	capabilities string

	dir string
}

// newNetwork writes a conflist. What its plugins leave in files goes into the network's own directory.
func newNetwork(cniVersion string, pod *podns.NS, plugins ...object) *network {
	GinkgoHelper()
	// Of the network's and the pod's name bandwidth makes that of its link, so both last for the spec.
	name := "net-of-" + filepath.Base(pod.Path)
	n := &network{name: name, version: cniVersion, pod: pod, dir: GinkgoT().TempDir()}
	for _, plugin := range plugins {
		switch plugin["type"] {
		case "tuning":
			plugin["dataDir"] = filepath.Join(n.dir, "tuning")
		default:
			if ipam, ok := plugin["ipam"].(object); ok {
				ipam["dataDir"] = filepath.Join(n.dir, "leases")
			}
		}
	}
	conflist, err := json.Marshal(object{"cniVersion": cniVersion, "name": n.name, "plugins": plugins})
	Expect(err).NotTo(HaveOccurred())
	Expect(os.WriteFile(filepath.Join(n.dir, "net.conflist"), conflist, 0o600)).To(Succeed())
	DeferCleanup(func() {
		if CurrentSpecReport().Failed() {
			// One failure is enough: the specs that follow shall find nothing of this one.
			stdout, stderr, err := n.cnitool("del")
			GinkgoWriter.Printf("cnitool del after the failure: %v %s%s\n", err, stdout, stderr)
		}
	})
	return n
}

// cnitool runs one command on the pod and gives what was written to stdout and stderr.
func (n *network) cnitool(command string) (stdout, stderr string, err error) {
	cmd := exec.Command(filepath.Join(binDir, "cnitool"), command, n.name, n.pod.Path)
	cmd.Env = append(os.Environ(), "NETCONFPATH="+n.dir, "CNI_PATH="+binDir, "CAP_ARGS="+n.capabilities)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err = cmd.Run()
	return out.String(), errOut.String(), err
}

// succeed runs a command that must exit with 0 and say nothing.
func (n *network) succeed(command string) {
	GinkgoHelper()
	stdout, stderr, err := n.cnitool(command)
	Expect(err).NotTo(HaveOccurred(), "%s: %s%s", command, stdout, stderr)
	Expect(stdout+stderr).To(BeEmpty(), command)
}

// add runs ADD and gives the Result and what result-enricher logged as repaired.
func (n *network) add() (object, []repair) {
	GinkgoHelper()
	stdout, stderr, err := n.cnitool("add")
	Expect(err).NotTo(HaveOccurred(), "add: %s%s", stdout, stderr)
	var result object
	Expect(json.Unmarshal([]byte(stdout), &result)).To(Succeed(), stdout)
	return result, repairs(stderr)
}

// checkIfKnown runs CHECK where the version has it.
func (n *network) checkIfKnown() {
	GinkgoHelper()
	if atLeast(n.version, "0.4.0") {
		n.succeed("check")
	}
}

// expectReleased expects that nothing of the attachment is left: no link in the pod, no lease, no cached Result.
func (n *network) expectReleased() {
	GinkgoHelper()
	Expect(n.pod.HasLink("eth0")).To(BeFalse(), "eth0 is still in the pod")
	Expect(n.leases()).To(BeEmpty(), "host-local still has leases")
	Expect(filepath.Glob("/var/lib/cni/results/"+n.name+"-*")).To(BeEmpty(), "libcni still has cached Results")
}

// leases are the addresses that host-local has given out.
func (n *network) leases() []string {
	GinkgoHelper()
	files, err := filepath.Glob(filepath.Join(n.dir, "leases", n.name, "*"))
	Expect(err).NotTo(HaveOccurred())
	var addresses []string
	for _, file := range files {
		if net.ParseIP(filepath.Base(file)) != nil {
			addresses = append(addresses, filepath.Base(file))
		}
	}
	return addresses
}

// versions are all that the format of the plugins' Results had since it knows interfaces.
func versions() []TableEntry {
	var entries []TableEntry
	for _, v := range version.All.SupportedVersions() {
		if atLeast(v, "0.3.0") {
			entries = append(entries, Entry("CNI "+v, v))
		}
	}
	return entries
}

func atLeast(have, want string) bool {
	GinkgoHelper()
	newer, err := version.GreaterThanOrEqualTo(have, want)
	Expect(err).NotTo(HaveOccurred())
	return newer
}
