// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/e2e/cluster/internal/machine"
	"github.com/result-enricher/result-enricher/e2e/cluster/internal/process"
)

const (
	// MultusNetwork is the name of the network in every multus configuration.
	MultusNetwork = "multus-cni-network"
	// MultusCache is where multus and its libcni remember attachments.
	MultusCache = "/var/lib/cni/multus"

	multusFile = "00-multus.conf"
	// primaryFile is the name of Calico's conflist, as its installer has it.
	primaryFile = "10-calico.conflist"
)

// Delegate says how multus learns of its primary network.
type Delegate string

const (
	// Embedded is a copy of the conflist in the multus configuration.
	Embedded Delegate = "delegates"
	// ByPath is the conflist's path, read at every ADD.
	ByPath Delegate = "clusterNetwork"
)

// primary puts the conflist where multus is told to find it, and returns the
// configuration that tells it. Its version is the conflist's, as multus wants it.
func primary(node *CNI, delegate Delegate, conflist []byte) object {
	ginkgo.GinkgoHelper()
	var list struct {
		CNIVersion string `json:"cniVersion"`
	}
	gomega.Expect(json.Unmarshal(conflist, &list)).To(gomega.Succeed())
	conf := object{"name": MultusNetwork, "cniVersion": list.CNIVersion}
	path := node.Write(primaryFile, conflist)
	if delegate == ByPath {
		conf[string(ByPath)] = path
	} else {
		conf[string(Embedded)] = []json.RawMessage{conflist}
	}
	return conf
}

// WriteThinMultus makes multus the network that the runtime uses, in front of the conflist.
func WriteThinMultus(node *CNI, api *APIServer, delegate Delegate, conflist []byte) {
	ginkgo.GinkgoHelper()
	conf := primary(node, delegate, conflist)
	conf["type"] = "multus"
	// Without it the runtime would not pass on what a pod says of its bandwidth.
	conf["capabilities"] = object{"bandwidth": true}
	conf["kubeconfig"] = api.Kubeconfig
	conf["binDir"] = node.BinDir
	conf["confDir"] = node.ConfDir
	conf["logLevel"] = "verbose"
	conf["logFile"] = filepath.Join(machine.LogDir(), "multus.log")
	node.Write(multusFile, marshal(conf))
	printOnFailure(filepath.Join(machine.LogDir(), "multus.log"))
}

// StartThickMultus starts the multus daemon, with its shim as the network that the runtime uses.
// With ByPath the daemon writes the shim's configuration itself, from what it finds in the
// directory. It always does so, and ends when told not to; with Embedded, what it
// writes goes where no runtime looks, and the shim's configuration is that of an administrator.
func StartThickMultus(node *CNI, api *APIServer, delegate Delegate, conflist []byte) {
	ginkgo.GinkgoHelper()
	api.writeServiceAccount()
	dir := tempDir("multus")
	socketDir := filepath.Join(dir, "run")
	generated := node.ConfDir
	shim := primary(node, delegate, conflist)
	if delegate == Embedded {
		generated = dir
		shim["type"] = "multus-shim"
		shim["daemonSocketDir"] = socketDir
		node.Write(multusFile, marshal(shim))
	}
	config := filepath.Join(dir, "daemon-config.json")
	writeFile(config, marshal(object{
		"cniVersion":          shim["cniVersion"],
		"binDir":              node.BinDir,
		"confDir":             node.ConfDir,
		"cniConfigDir":        generated,
		"multusConfigFile":    "auto",
		"multusAutoconfigDir": node.ConfDir,
		"multusMasterCNI":     primaryFile,
		"socketDir":           socketDir,
		"daemonSocketDir":     socketDir,
		"logLevel":            "verbose",
		"logToStderr":         true,
	}))

	cmd := exec.Command(binary("multus-daemon"), "-config", config)
	cmd.Env = append(node.Environ(), api.inCluster()...)
	cmd.Env = append(cmd.Env, "MULTUS_NODE_NAME="+machine.Hostname)
	process.Start(cmd, func() error {
		for _, path := range []string{filepath.Join(generated, multusFile), filepath.Join(socketDir, "multus.sock")} {
			if _, err := os.Stat(path); err != nil {
				return err
			}
		}
		return nil
	})
}

// inCluster is the environment by which a pod finds the API server.
func (a *APIServer) inCluster() []string {
	return []string{"KUBERNETES_SERVICE_HOST=127.0.0.1", fmt.Sprintf("KUBERNETES_SERVICE_PORT=%d", a.Port)}
}

// writeServiceAccount puts the files there that a pod finds: client-go has their path built in.
func (a *APIServer) writeServiceAccount() {
	ginkgo.GinkgoHelper()
	const dir = "/var/run/secrets/kubernetes.io/serviceaccount"
	certificate, err := os.ReadFile(a.caFile)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	writeFile(filepath.Join(dir, "ca.crt"), certificate)
	writeFile(filepath.Join(dir, "token"), []byte(token))
	ginkgo.DeferCleanup(os.RemoveAll, dir)
}
