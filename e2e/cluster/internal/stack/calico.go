// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/onsi/ginkgo/v2"

	"github.com/result-enricher/result-enricher/e2e/cluster/internal/machine"
)

// CalicoNetwork is the name of the network in Calico's conflist, as its manifests have it.
const CalicoNetwork = "k8s-pod-network"

const (
	calicoResources = "/calico/resources/v3/projectcalico.org/"
	calicoIPAM      = "/calico/ipam/v2/handle/"

	// V4Subnet is what pods get their IPv4 address of.
	V4Subnet = "10.135.0.0/16"
	// V6Subnet is what pods get their IPv6 address of.
	V6Subnet = "fd00:135::/112"
)

// Calico is what the Calico CNI plugin needs to run: a datastore that
// says it is ready and knows the node.
type Calico struct {
	etcd *Etcd
	// settings are those of the plugin's entry in the conflist, but for the addresses.
	settings object
	// leases is host-local's directory, empty when Calico manages addresses itself.
	leases string
}

// PrepareCalico seeds the datastore for Calico without Kubernetes, with addresses of host-local.
func PrepareCalico(etcd *Etcd) *Calico {
	ginkgo.GinkgoHelper()
	c := &Calico{etcd: etcd, leases: tempDir("host-local"), settings: object{
		"nodename":               machine.Hostname,
		"nodename_file_optional": true,
	}}
	c.seed()
	return c
}

// PrepareKubernetesCalico seeds the datastore for Calico that asks Kubernetes
// for its pods, and manages addresses itself.
func PrepareKubernetesCalico(etcd *Etcd, api *APIServer) *Calico {
	ginkgo.GinkgoHelper()
	c := &Calico{etcd: etcd, settings: object{
		"policy":     object{"type": "k8s"},
		"kubernetes": object{"kubeconfig": api.Kubeconfig},
	}}
	c.seed()
	for name, subnet := range map[string]string{"v4": V4Subnet, "v6": V6Subnet} {
		c.put("IPPool", "ippools/"+name, object{
			"cidr": subnet, "nodeSelector": "all()", "ipipMode": "Never", "vxlanMode": "Never",
			"allowedUses": []string{"Workload", "Tunnel"}, "blockSize": map[string]int{"v4": 26, "v6": 122}[name],
		})
	}
	// What calico-node leaves on every node; its path is built into the plugin.
	const nodename = "/var/lib/calico/nodename"
	writeFile(nodename, []byte(machine.Hostname))
	ginkgo.DeferCleanup(os.RemoveAll, filepath.Dir(nodename))
	return c
}

func (c *Calico) seed() {
	ginkgo.GinkgoHelper()
	printOnFailure(calicoLog())
	c.put("ClusterInformation", "clusterinformations/default", object{"datastoreReady": true})
	c.put("Node", "nodes/"+machine.Hostname, object{})
}

func (c *Calico) put(kind, path string, spec object) {
	ginkgo.GinkgoHelper()
	c.etcd.Put(calicoResources+path, object{
		"kind": kind, "apiVersion": "projectcalico.org/v3", "spec": spec,
		"metadata": object{
			"name": filepath.Base(path), "creationTimestamp": "2025-01-01T00:00:00Z",
			"uid": "6f9f1a6e-6f3c-4a55-a7b6-3a0d6cf3e0c1",
		},
	})
}

// Environment tells the plugin of the datastore when its configuration does not: multus up to
// v4.3.0 leaves the settings of a clusterNetwork's plugins out when it calls DEL.
// See https://github.com/k8snetworkplumbingwg/multus-cni/issues/1449.
func (c *Calico) Environment() []string {
	return []string{"DATASTORE_TYPE=etcdv3", "ETCD_ENDPOINTS=" + c.etcd.URL}
}

// Chain says what is in a conflist with Calico as its first plugin.
type Chain struct {
	// CNIVersion is 0.3.1 when empty: that of Calico's manifests of every affected release.
	CNIVersion string
	// Subnets are those that the pod gets one address of each; V4Subnet when empty.
	Subnets []string
	// Shaped puts bandwidth behind Calico, as its manifests do.
	Shaped bool
	// Enriched appends result-enricher.
	Enriched bool
	// Settings are the plugin's, beside its type.
	Settings map[string]any
}

// Conflist returns the network configuration list.
func (c *Calico) Conflist(chain Chain) []byte {
	ginkgo.GinkgoHelper()
	if chain.CNIVersion == "" {
		chain.CNIVersion = "0.3.1"
	}
	if len(chain.Subnets) == 0 {
		chain.Subnets = []string{V4Subnet}
	}
	calico := object{
		"type":           "calico",
		"datastore_type": "etcdv3",
		"etcd_endpoints": c.etcd.URL,
		"log_level":      "info",
		"log_file_path":  calicoLog(),
		"ipam":           c.ipam(chain.Subnets),
	}
	maps.Copy(calico, c.settings)
	plugins := []object{calico}
	if chain.Shaped {
		plugins = append(plugins, object{"type": "bandwidth", "capabilities": object{"bandwidth": true}})
	}
	if chain.Enriched {
		entry := object{"type": "result-enricher"}
		maps.Copy(entry, chain.Settings)
		plugins = append(plugins, entry)
	}
	return marshal(object{"name": CalicoNetwork, "cniVersion": chain.CNIVersion, "plugins": plugins})
}

func calicoLog() string { return filepath.Join(machine.LogDir(), "calico-cni.log") }

func (c *Calico) ipam(subnets []string) object {
	if c.leases == "" {
		return object{
			"type":        "calico-ipam",
			"assign_ipv4": fmt.Sprint(slices.Contains(subnets, V4Subnet)),
			"assign_ipv6": fmt.Sprint(slices.Contains(subnets, V6Subnet)),
		}
	}
	var ranges [][]object
	for _, subnet := range subnets {
		ranges = append(ranges, []object{{"subnet": subnet}})
	}
	return object{"type": "host-local", "dataDir": c.leases, "ranges": ranges}
}

// WorkloadEndpoint is what Calico's datastore says about one pod.
type WorkloadEndpoint struct {
	Spec struct {
		ContainerID   string   `json:"containerID"`
		Pod           string   `json:"pod"`
		InterfaceName string   `json:"interfaceName"`
		IPNetworks    []string `json:"ipNetworks"`
	} `json:"spec"`
}

// WorkloadEndpoints returns those of all pods, in no order.
func (c *Calico) WorkloadEndpoints() ([]WorkloadEndpoint, error) {
	values, err := c.etcd.List(calicoResources + "workloadendpoints/")
	if err != nil {
		return nil, err
	}
	var endpoints []WorkloadEndpoint
	for key, value := range values {
		var endpoint WorkloadEndpoint
		if err := json.Unmarshal(value, &endpoint); err != nil {
			return nil, fmt.Errorf("decode %s: %w", key, err)
		}
		endpoints = append(endpoints, endpoint)
	}
	return endpoints, nil
}

// Leases names what is given out: host-local's addresses, or Calico's handles, one per sandbox.
func (c *Calico) Leases() ([]string, error) {
	if c.leases == "" {
		handles, err := c.etcd.List(calicoIPAM)
		return slices.Sorted(maps.Keys(handles)), err
	}
	files, err := filepath.Glob(filepath.Join(c.leases, CalicoNetwork, "*"))
	if err != nil {
		return nil, err
	}
	var leases []string
	for _, file := range files {
		name := filepath.Base(file)
		// Beside the leases lie a lock and the last address of each range.
		if name != "lock" && !strings.HasPrefix(name, "last_reserved_ip.") {
			leases = append(leases, name)
		}
	}
	return leases, nil
}
