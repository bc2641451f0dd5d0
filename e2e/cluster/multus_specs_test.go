// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/e2e/cluster/internal/machine"
	"github.com/result-enricher/result-enricher/e2e/cluster/internal/sandbox"
	"github.com/result-enricher/result-enricher/e2e/cluster/internal/stack"
)

// secondNetwork is a NetworkAttachmentDefinition; multus names it with its namespace.
const secondNetwork = "macvlan-net"

// multusSpecs are the same for thin and thick multus. configure makes multus
// the runtime's network, until the end of the spec, with the conflist as its primary one.
func multusSpecs(kind string, configure func(*stack.CNI, *stack.APIServer, stack.Delegate, []byte)) {
	var (
		api       *stack.APIServer
		calico    *stack.Calico
		node      *stack.CNI
		secondary string
	)

	BeforeAll(func() {
		etcd := stack.StartEtcd()
		api = stack.StartAPIServer(etcd)
		api.DefineNetworks()
		secondary = GinkgoT().TempDir()
		api.DefineNetwork(secondNetwork, map[string]any{
			"cniVersion": "0.3.1", "name": secondNetwork, "type": "macvlan", "master": machine.Uplink,
			"ipam": map[string]any{"type": "host-local", "dataDir": secondary, "subnet": "10.200.0.0/24"},
		})
		calico = stack.PrepareKubernetesCalico(etcd, api)
		node = stack.NewCNI(calico.Environment()...)
	})

	type connection struct{ netns, args string }

	disconnect := func(c connection) {
		GinkgoHelper()
		_, err := node.Call("del", stack.MultusNetwork, c.netns, c.args)
		Expect(err).NotTo(HaveOccurred())
	}

	// connect makes a pod in the API and a sandbox, and connects them as a kubelet's runtime does.
	connect := func(pod string, networks ...string) connection {
		GinkgoHelper()
		annotations := map[string]string{stack.Networks: strings.Join(networks, ",")}
		api.Apply(stack.BoundPodObject(pod, annotations))
		DeferCleanup(func() {
			// By force: there is no kubelet that would let it go.
			_, err := api.Kubectl("delete", "pod", pod, "--force", "--grace-period=0")
			Expect(err).NotTo(HaveOccurred())
		})
		created, err := api.Pod(pod)
		Expect(err).NotTo(HaveOccurred())
		c := connection{
			netns: sandbox.New(pod),
			args: "IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=" + pod +
				";K8S_POD_INFRA_CONTAINER_ID=" + pod + ";K8S_POD_UID=" + created.Metadata.UID,
		}
		DeferCleanup(disconnect, c)
		_, err = node.Call("add", stack.MultusNetwork, c.netns, c.args)
		Expect(err).NotTo(HaveOccurred())
		return c
	}

	networkStatus := func(pod string) string {
		GinkgoHelper()
		found, err := api.Pod(pod)
		Expect(err).NotTo(HaveOccurred())
		return found.NetworkStatus()
	}

	for _, delegate := range []stack.Delegate{stack.Embedded, stack.ByPath} {
		Context("with "+string(delegate), func() {
			scenario := fmt.Sprintf("multus %s, %s", kind, delegate)

			It("writes neither interface nor mac without the plugin", func() {
				configure(node, api, delegate, calico.Conflist(stack.Chain{}))
				eth0, _ := podLink(connect("before").netns)

				status := networkStatus("before")
				show(scenario, "before", status)
				Expect(status).To(MatchJSON(statusOf(map[string]any{
					"name": stack.CalicoNetwork, "ips": eth0.Addresses, "default": true, "dns": map[string]any{},
				})))
			})

			It("writes the kernel's interface and mac with the plugin", func() {
				configure(node, api, delegate, calico.Conflist(stack.Chain{Enriched: true}))
				eth0, _ := podLink(connect("after").netns)

				status := networkStatus("after")
				show(scenario, "after", status)
				Expect(status).To(MatchJSON(statusOf(primaryStatus(eth0))))
			})

			It("writes both addresses of a dual-stack pod", func() {
				configure(node, api, delegate, calico.Conflist(stack.Chain{
					Subnets: []string{stack.V4Subnet, stack.V6Subnet}, Enriched: true,
				}))
				eth0, _ := podLink(connect("dual-stack").netns)
				Expect(eth0.Addresses).To(HaveLen(2))

				Expect(networkStatus("dual-stack")).To(MatchJSON(statusOf(primaryStatus(eth0))))
			})

			It("writes the mtu too and passes CHECK, where the CNI version has both", func() {
				configure(node, api, delegate, calico.Conflist(stack.Chain{CNIVersion: "1.0.0", Enriched: true}))
				pod := connect("newer")
				eth0, _ := podLink(pod.netns)

				entry := primaryStatus(eth0)
				entry["mtu"] = eth0.MTU
				Expect(networkStatus("newer")).To(MatchJSON(statusOf(entry)))
				_, err := node.Call("check", stack.MultusNetwork, pod.netns, pod.args)
				Expect(err).NotTo(HaveOccurred())
			})

			It("describes a second network beside the primary one, and releases both", func() {
				linksBefore, err := sandbox.HostLinks()
				Expect(err).NotTo(HaveOccurred())
				configure(node, api, delegate, calico.Conflist(stack.Chain{Enriched: true}))
				pod := connect("two-networks", secondNetwork)
				eth0, _ := podLink(pod.netns)
				Expect(calico.Leases()).To(HaveLen(1))
				secondLeases := filepath.Join(secondary, secondNetwork, "10.*")
				Expect(filepath.Glob(secondLeases)).To(HaveLen(1))
				net1, err := sandbox.Read(pod.netns, "net1")
				Expect(err).NotTo(HaveOccurred())
				Expect(net1).To(And(HaveField("Kind", "macvlan"), HaveField("MAC", Not(Equal(eth0.MAC)))))

				status := networkStatus("two-networks")
				show(scenario, "two networks", status)
				Expect(status).To(MatchJSON(statusOf(primaryStatus(eth0), secondStatus(net1))))

				disconnect(pod)
				Expect(sandbox.HostLinks()).To(Equal(linksBefore))
				Expect(calico.Leases()).To(BeEmpty())
				Expect(calico.WorkloadEndpoints()).To(BeEmpty())
				Expect(filepath.Glob(secondLeases)).To(BeEmpty())
				Expect(cachedResults()).To(BeEmpty())
				Expect(filesBelow(stack.MultusCache)).To(BeEmpty())
			})
		})
	}
}

// primaryStatus is the network-status entry that describes eth0.
func primaryStatus(eth0 sandbox.Link) map[string]any {
	return map[string]any{
		"name": stack.CalicoNetwork, "interface": "eth0", "ips": eth0.Addresses, "mac": eth0.MAC,
		"default": true, "dns": map[string]any{},
	}
}

// secondStatus is the entry that describes the second network's interface.
func secondStatus(net1 sandbox.Link) map[string]any {
	return map[string]any{
		"name": "default/" + secondNetwork, "interface": "net1", "ips": net1.Addresses, "mac": net1.MAC,
		"dns": map[string]any{},
	}
}

func statusOf(entries ...map[string]any) []byte {
	GinkgoHelper()
	content, err := json.Marshal(entries)
	Expect(err).NotTo(HaveOccurred())
	return content
}

// filesBelow lists the files of a directory tree that need not exist.
func filesBelow(dir string) []string {
	GinkgoHelper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if !os.IsNotExist(err) {
		Expect(err).NotTo(HaveOccurred())
	}
	return files
}
