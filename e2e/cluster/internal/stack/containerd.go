// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"github.com/result-enricher/result-enricher/e2e/cluster/internal/process"
)

// Containerd is a running containerd with its CRI plugin.
type Containerd struct {
	// Socket is its gRPC socket.
	Socket string

	process *process.Process
	// crictlConfig is used in place of one of the machine's own.
	crictlConfig string
}

const containerdConfig = `version = 2
root = %q
state = %q

[grpc]
address = %q

[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = %q
stream_server_address = "127.0.0.1"
stream_server_port = "0"
# Raising a score is allowed everywhere, lowering it is not.
restrict_oom_score_adj = true

[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = %q
conf_dir = %q

[plugins."io.containerd.grpc.v1.cri".containerd]
# Needs nothing of the file system below.
snapshotter = "native"
default_runtime_name = "runc"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
BinaryName = "runc"
`

// StartContainerd starts Debian's containerd with the node's CNI directories, and gives it the image.
func StartContainerd(node *CNI) *Containerd {
	ginkgo.GinkgoHelper()
	dir := tempDir("containerd")
	c := &Containerd{
		Socket:       filepath.Join(dir, "containerd.sock"),
		crictlConfig: filepath.Join(dir, "crictl.yaml"),
	}
	writeFile(c.crictlConfig, []byte(fmt.Sprintf("runtime-endpoint: unix://%s\nimage-endpoint: unix://%[1]s\ntimeout: 60\n", c.Socket)))
	config := filepath.Join(dir, "config.toml")
	writeFile(config, fmt.Appendf(nil, containerdConfig, filepath.Join(dir, "root"), filepath.Join(dir, "state"),
		c.Socket, Image, node.BinDir, node.ConfDir))
	cmd := exec.Command("containerd", "--config", config)
	cmd.Env = node.Environ()
	c.process = process.Start(cmd, c.ready)
	// Of pods that a failed spec leaves, the shims would live on.
	ginkgo.DeferCleanup(c.removePods)

	process.Output(exec.Command("ctr", "--address", c.Socket, "--namespace", "k8s.io", "images", "import", buildImage()))
	// The CRI plugin hears of new images from events.
	gomega.Eventually(func() error {
		_, err := c.crictl("inspecti", Image)
		return err
	}).Should(gomega.Succeed())
	return c
}

// Restart stops containerd, under the pods that are running, and starts it again.
func (c *Containerd) Restart() {
	ginkgo.GinkgoHelper()
	c.process.Restart(c.ready)
}

func (c *Containerd) ready() error {
	_, err := c.crictl("version")
	return err
}

func (c *Containerd) removePods() error {
	_, err := c.crictl("rmp", "--all", "--force")
	return err
}

func (c *Containerd) crictl(args ...string) (string, error) {
	return process.TryOutput(exec.Command(binary("crictl"), append([]string{"--config", c.crictlConfig}, args...)...))
}

// PodSandbox is what crictl inspectp shows of one.
type PodSandbox struct {
	// ID is the sandbox's, and so the CNI container ID.
	ID string
	// Netns is the path of its network namespace.
	Netns string
	// Eth0 is that interface in cniResult: the Result, as containerd keeps it.
	Eth0 struct {
		IPConfigs []struct {
			IP string
		}
		Mac     string
		Sandbox string
	}
}

// Sandboxes returns the IDs of the pod sandboxes that are running, by pod name. Of those that are
// not, nothing is left but a record, until the kubelet sweeps once a minute.
func (c *Containerd) Sandboxes() (map[string]string, error) {
	output, err := c.crictl("pods", "--state", "Ready", "-o", "json")
	if err != nil {
		return nil, err
	}
	var list struct {
		Items []struct {
			ID       string `json:"id"`
			Metadata struct {
				Name string `json:"name"`
			} `json:"metadata"`
		} `json:"items"`
	}
	if err := json.Unmarshal([]byte(output), &list); err != nil {
		return nil, fmt.Errorf("decode pod sandboxes: %w", err)
	}
	ids := map[string]string{}
	for _, item := range list.Items {
		ids[item.Metadata.Name] = item.ID
	}
	return ids, nil
}

// Inspect returns one sandbox.
func (c *Containerd) Inspect(id string) (PodSandbox, error) {
	output, err := c.crictl("inspectp", id)
	if err != nil {
		return PodSandbox{}, err
	}
	var inspected struct {
		Info struct {
			RuntimeSpec struct {
				Linux struct {
					Namespaces []struct {
						Type string `json:"type"`
						Path string `json:"path"`
					} `json:"namespaces"`
				} `json:"linux"`
			} `json:"runtimeSpec"`
			CNIResult struct {
				Interfaces map[string]json.RawMessage
			} `json:"cniResult"`
		} `json:"info"`
	}
	if err := json.Unmarshal([]byte(output), &inspected); err != nil {
		return PodSandbox{}, fmt.Errorf("decode pod sandbox %s: %w", id, err)
	}
	found := PodSandbox{ID: id}
	for _, namespace := range inspected.Info.RuntimeSpec.Linux.Namespaces {
		if namespace.Type == "network" {
			found.Netns = namespace.Path
		}
	}
	eth0, ok := inspected.Info.CNIResult.Interfaces["eth0"]
	if !ok {
		return PodSandbox{}, fmt.Errorf("pod sandbox %s: no eth0 in cniResult", id)
	}
	if err := json.Unmarshal(eth0, &found.Eth0); err != nil {
		return PodSandbox{}, fmt.Errorf("decode eth0 of pod sandbox %s: %w", id, err)
	}
	return found, nil
}
