// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/e2e/cluster/internal/process"
	"github.com/result-enricher/result-enricher/e2e/cluster/internal/stack"
)

// installer returns /proc/PID/status of the DaemonSet's process.
func installer() map[string]string {
	GinkgoHelper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	Expect(err).NotTo(HaveOccurred())
	var found []map[string]string
	for _, path := range lines {
		// Of a process that has just ended nothing can be read.
		line, err := os.ReadFile(path)
		if err != nil || string(line) != "/enrichctl\x00install\x00--watch\x00" {
			continue
		}
		status, err := os.ReadFile(filepath.Join(filepath.Dir(path), "status"))
		Expect(err).NotTo(HaveOccurred())
		values := map[string]string{}
		for line := range strings.Lines(string(status)) {
			key, value, _ := strings.Cut(line, ":")
			values[key] = strings.TrimSpace(value)
		}
		found = append(found, values)
	}
	Expect(found).To(HaveLen(1))
	return found[0]
}

// statusInPod runs enrichctl status as kubectl exec would, which has no way from this API server to the kubelet.
func statusInPod(api *stack.APIServer, node *stack.Containerd) []byte {
	GinkgoHelper()
	container, err := api.Kubectl("get", "pods", "-n", "result-enricher", "-o", "jsonpath={.items[0].status.containerStatuses[0].containerID}")
	Expect(err).NotTo(HaveOccurred())
	return []byte(process.Output(exec.Command("ctr", "--address", node.Socket, "--namespace", "k8s.io", "tasks", "exec",
		"--exec-id", "status", strings.TrimPrefix(container, "containerd://"), "/enrichctl", "status", "-o", "json")))
}

// expectStatus holds what the pod sees of the node against what is there: multus in front of Calico's conflist, and one
// pod from before.
func expectStatus(output []byte, conflist string) {
	GinkgoHelper()
	var status struct {
		Ready                 bool
		ConfFile, RuntimeFile string
		Entry                 map[string]any
		Problems              []struct{ Code, Message string }
	}
	Expect(json.Unmarshal(output, &status)).To(Succeed(), "%s", output)
	Expect(status.Ready).To(BeTrue(), "%s", output)
	Expect(status.ConfFile).To(Equal(conflist))
	Expect(status.RuntimeFile).To(Equal(filepath.Join(filepath.Dir(conflist), "00-multus.conf")))
	Expect(status.Entry).To(Equal(map[string]any{"type": "result-enricher"}))
	Expect(status.Problems).To(HaveExactElements(HaveField("Code", "pods-to-restart")), "%s", output)
	Expect(status.Problems[0].Message).To(HavePrefix("1 running pods"))
}

// identity is what changes when a file is written or replaced.
func identity(path string) []any {
	GinkgoHelper()
	info, err := os.Lstat(path)
	Expect(err).NotTo(HaveOccurred())
	return []any{path, info.Sys().(*syscall.Stat_t).Ino, info.ModTime(), info.Mode()}
}

// faults are words by which an error of a sandbox names the plugin, or a conflist that was read half-written.
var faults = regexp.MustCompile(`result-enricher|unexpected end of JSON|invalid character|unmarshal|cni config|no net`)

// expectNoFault looks through everything the kubelet has complained about so far.
func expectNoFault(api *stack.APIServer) {
	GinkgoHelper()
	output, err := api.Kubectl("get", "events", "-n", "default", "-o", "json")
	Expect(err).NotTo(HaveOccurred())
	var list struct {
		Items []struct {
			Type, Reason, Message string
			InvolvedObject        struct{ Kind, Name string }
		}
	}
	Expect(json.Unmarshal([]byte(output), &list)).To(Succeed())
	Expect(list.Items).NotTo(BeEmpty())
	failed, faulty := 0, []string{}
	for _, event := range list.Items {
		if event.Reason == "NodeNotReady" {
			faulty = append(faulty, event.Message)
		}
		if event.Type != "Warning" || !strings.Contains(event.Reason, "Sandbox") && event.Reason != "FailedKillPod" {
			continue
		}
		failed++
		GinkgoWriter.Println(event.Reason, event.InvolvedObject.Name, event.Message)
		if faults.MatchString(event.Message) {
			faulty = append(faulty, fmt.Sprintf("%s %s: %s", event.Reason, event.InvolvedObject.Name, event.Message))
		}
	}
	Expect(faulty).To(BeEmpty())
	tell("failed sandboxes so far: %d, for the plugin or a torn conflist: 0", failed)
}

// withoutOpenShiftKinds takes out the documents whose kinds only OpenShift's API server knows.
func withoutOpenShiftKinds(rendered string) string {
	var kept []string
	for _, document := range strings.Split(rendered, "\n---\n") {
		if !strings.Contains(document, "apiVersion: security.openshift.io/") {
			kept = append(kept, document)
		}
	}
	return strings.Join(kept, "\n---\n")
}
