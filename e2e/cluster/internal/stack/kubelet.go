// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/e2e/cluster/internal/machine"
	"github.com/result-enricher/result-enricher/e2e/cluster/internal/process"
)

// StartKubelet starts a kubelet that runs pods with containerd, and waits until its node is ready.
func StartKubelet(api *APIServer, containerd *Containerd) {
	ginkgo.GinkgoHelper()
	dir := tempDir("kubelet")
	healthz := freePort()
	config := filepath.Join(dir, "config.json")
	writeFile(config, marshal(object{
		"kind": "KubeletConfiguration", "apiVersion": "kubelet.config.k8s.io/v1beta1",
		"address":        "127.0.0.1",
		"port":           freePort(),
		"healthzPort":    healthz,
		"authentication": object{"anonymous": object{"enabled": true}, "webhook": object{"enabled": false}},
		"authorization":  object{"mode": "AlwaysAllow"},

		"containerRuntimeEndpoint": "unix://" + containerd.Socket,
		"cgroupDriver":             "cgroupfs",
		"cgroupRoot":               machine.Cgroup(),
		"podLogsDir":               filepath.Join(dir, "pod-logs"),
		"volumePluginDir":          filepath.Join(dir, "volume-plugins"),
		"resolvConf":               "",

		// The machine is somebody's, and the node is only as large as a test: the
		// kubelet shall neither divide its resources, nor evict, nor change its firewall.
		"cgroupsPerQOS":                 false,
		"enforceNodeAllocatable":        []string{},
		"failSwapOn":                    false,
		"localStorageCapacityIsolation": false,
		"evictionHard":                  object{"memory.available": "1Mi", "nodefs.available": "0%", "imagefs.available": "0%"},
		"imageGCHighThresholdPercent":   100,
		"makeIPTablesUtilChains":        false,

		"maxPods":                   110,
		"nodeStatusUpdateFrequency": "2s",
		"kubeAPIQPS":                200,
		"kubeAPIBurst":              400,
	}))
	process.Start(exec.Command(binary("kubelet"),
		"--config", config,
		"--kubeconfig", api.Kubeconfig,
		"--root-dir", filepath.Join(dir, "root"),
		"--cert-dir", filepath.Join(dir, "certs"),
		"--node-ip", machine.NodeIP.String(),
	), answers(plainHTTP, fmt.Sprintf("http://127.0.0.1:%d/healthz", healthz)))

	gomega.Eventually(func() error {
		_, err := api.Kubectl("wait", "--for=condition=Ready", "--timeout=30s", "node/"+machine.Hostname)
		return err
	}).WithTimeout(readyNodeWithin).Should(gomega.Succeed())
}
