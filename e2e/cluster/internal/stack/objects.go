// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/e2e/cluster/internal/machine"
	"github.com/result-enricher/result-enricher/e2e/cluster/internal/process"
)

// Annotations of pods.
const (
	// Networks names NetworkAttachmentDefinitions: the pod's further networks.
	Networks = "k8s.v1.cni.cncf.io/networks"
	// Egress limits what the pod sends, in bits per second.
	Egress = "kubernetes.io/egress-bandwidth"

	networkStatus = "k8s.v1.cni.cncf.io/network-status"
)

// Pod is what the tests read of one.
type Pod struct {
	Metadata struct {
		Name              string            `json:"name"`
		UID               string            `json:"uid"`
		Annotations       map[string]string `json:"annotations"`
		DeletionTimestamp string            `json:"deletionTimestamp"`
	} `json:"metadata"`
	Status struct {
		Phase string `json:"phase"`
		PodIP string `json:"podIP"`
	} `json:"status"`
}

// NetworkStatus returns the pod's network-status annotation, as multus wrote it.
func (p Pod) NetworkStatus() string { return p.Metadata.Annotations[networkStatus] }

// Apply creates the objects, or brings them to the given state.
func (a *APIServer) Apply(objects ...any) {
	ginkgo.GinkgoHelper()
	cmd := a.kubectl("apply", "-f", "-")
	cmd.Stdin = bytes.NewReader(marshal(object{"kind": "List", "apiVersion": "v1", "items": objects}))
	process.Output(cmd)
}

// Pod returns a pod of the default namespace.
func (a *APIServer) Pod(name string) (Pod, error) {
	output, err := a.Kubectl("get", "pod", name, "-o", "json")
	if err != nil {
		return Pod{}, err
	}
	var pod Pod
	if err := json.Unmarshal([]byte(output), &pod); err != nil {
		return Pod{}, fmt.Errorf("decode pod %s: %w", name, err)
	}
	return pod, nil
}

// Pods returns the pods of the default namespace that the selector matches.
func (a *APIServer) Pods(selector string) ([]Pod, error) {
	output, err := a.Kubectl("get", "pods", "--selector", selector, "-o", "json")
	if err != nil {
		return nil, err
	}
	var list struct {
		Items []Pod `json:"items"`
	}
	if err := json.Unmarshal([]byte(output), &list); err != nil {
		return nil, fmt.Errorf("decode pods: %w", err)
	}
	return list.Items, nil
}

// PodObject is a pod that runs the cluster's only image.
func PodObject(name string, annotations map[string]string) any {
	return object{
		"kind": "Pod", "apiVersion": "v1", "metadata": object{"name": name, "annotations": annotations}, "spec": podSpec(),
	}
}

// BoundPodObject is a pod that has its place on the node already, where no scheduler runs.
func BoundPodObject(name string, annotations map[string]string) any {
	pod := PodObject(name, annotations).(object)
	pod["spec"].(object)["nodeName"] = machine.Hostname
	return pod
}

// DeploymentObject has the given number of such pods, with the label app.
func DeploymentObject(name string, replicas int) any {
	labels := object{"app": name}
	return object{"kind": "Deployment", "apiVersion": "apps/v1", "metadata": object{"name": name}, "spec": object{
		"replicas": replicas, "selector": object{"matchLabels": labels},
		"template": object{"metadata": object{"labels": labels}, "spec": podSpec()},
	}}
}

func podSpec() object {
	return object{
		"dnsPolicy":                     "Default",
		"automountServiceAccountToken":  false,
		"enableServiceLinks":            false,
		"terminationGracePeriodSeconds": 5,
		// The test's node may be under pressure of the machine it runs on; it is not what is tested.
		"tolerations": []object{{"operator": "Exists"}},
		"containers":  []object{{"name": "pause", "image": Image, "imagePullPolicy": "Never"}},
	}
}

// DefineNetworks makes the API server know the kind NetworkAttachmentDefinition.
func (a *APIServer) DefineNetworks() {
	ginkgo.GinkgoHelper()
	const group = "k8s.cni.cncf.io"
	a.Apply(object{
		"kind": "CustomResourceDefinition", "apiVersion": "apiextensions.k8s.io/v1",
		"metadata": object{"name": "network-attachment-definitions." + group},
		"spec": object{
			"group": group, "scope": "Namespaced",
			"names": object{
				"plural": "network-attachment-definitions", "singular": "network-attachment-definition",
				"kind": "NetworkAttachmentDefinition", "shortNames": []string{"net-attach-def"},
			},
			"versions": []object{{
				"name": "v1", "served": true, "storage": true,
				"schema": object{"openAPIV3Schema": object{
					"type": "object",
					"properties": object{"spec": object{
						"type": "object", "properties": object{"config": object{"type": "string"}},
					}},
				}},
			}},
		},
	})
	_, err := a.Kubectl("wait", "--for=condition=Established", "--timeout=30s", "crd/network-attachment-definitions."+group)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
}

// DefineNetwork makes a NetworkAttachmentDefinition.
func (a *APIServer) DefineNetwork(name string, config any) {
	ginkgo.GinkgoHelper()
	a.Apply(object{
		"kind": "NetworkAttachmentDefinition", "apiVersion": "k8s.cni.cncf.io/v1",
		"metadata": object{"name": name, "namespace": "default"},
		"spec":     object{"config": string(marshal(config))},
	})
}
