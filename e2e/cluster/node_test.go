// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/e2e/cluster/internal/machine"
	"github.com/result-enricher/result-enricher/e2e/cluster/internal/sandbox"
	"github.com/result-enricher/result-enricher/e2e/cluster/internal/stack"
)

var _ = Describe("a real node with multus and Calico", Ordered, func() {
	const manyPods = 50

	var (
		api        *stack.APIServer
		calico     *stack.Calico
		cni        *stack.CNI
		containerd *stack.Containerd
		before     nodeState
	)

	// state is what pods come and go with.
	state := func(g Gomega) nodeState {
		links, err := sandbox.HostLinks()
		g.Expect(err).NotTo(HaveOccurred())
		leases, err := calico.Leases()
		g.Expect(err).NotTo(HaveOccurred())
		endpoints, err := calico.WorkloadEndpoints()
		g.Expect(err).NotTo(HaveOccurred())
		sandboxes, err := containerd.Sandboxes()
		g.Expect(err).NotTo(HaveOccurred())
		return nodeState{
			Links: links, Leases: leases, Endpoints: len(endpoints), Sandboxes: len(sandboxes),
			CacheFiles: append(cachedResults(), filesBelow(stack.MultusCache)...), Netns: filesBelow("/run/netns"),
		}
	}

	// use makes the chain that of all pods to come: multus reads the conflist at every ADD.
	use := func(chain stack.Chain) {
		GinkgoHelper()
		stack.WriteThinMultus(cni, api, stack.ByPath, calico.Conflist(chain))
	}

	// inspect returns a pod's sandbox as containerd has it, and its eth0 as the kernel has it.
	inspect := func(sandboxes map[string]string, pod string) (stack.PodSandbox, sandbox.Link) {
		GinkgoHelper()
		Expect(sandboxes).To(HaveKey(pod))
		inspected, err := containerd.Inspect(sandboxes[pod])
		Expect(err).NotTo(HaveOccurred())
		eth0, _ := podLink(inspected.Netns)
		Expect(eth0.Addresses).To(HaveLen(1))
		return inspected, eth0
	}

	// running waits for a pod, and returns it as seen by the API, by containerd and by the kernel.
	running := func(name string) (stack.Pod, stack.PodSandbox, sandbox.Link) {
		GinkgoHelper()
		_, err := api.Kubectl("wait", "--for=condition=Ready", "--timeout=2m", "pod/"+name)
		Expect(err).NotTo(HaveOccurred())
		pod, err := api.Pod(name)
		Expect(err).NotTo(HaveOccurred())
		sandboxes, err := containerd.Sandboxes()
		Expect(err).NotTo(HaveOccurred())
		inspected, eth0 := inspect(sandboxes, name)
		return pod, inspected, eth0
	}

	// expectPodIP holds the address in the pod's status against what Calico noted when it gave it.
	expectPodIP := func(pod stack.Pod) {
		GinkgoHelper()
		endpoints, err := calico.WorkloadEndpoints()
		Expect(err).NotTo(HaveOccurred())
		var given []string
		for _, endpoint := range endpoints {
			if endpoint.Spec.Pod == pod.Metadata.Name {
				given = append(given, endpoint.Spec.IPNetworks...)
			}
		}
		Expect(given).To(Equal([]string{pod.Status.PodIP + "/32"}))
	}

	remove := func(object string) {
		GinkgoHelper()
		_, err := api.Kubectl("delete", object, "--timeout=3m")
		Expect(err).NotTo(HaveOccurred())
	}

	expectClean := func() {
		GinkgoHelper()
		Eventually(state).WithTimeout(2 * time.Minute).WithPolling(time.Second).Should(Equal(before))
	}

	BeforeAll(func() {
		etcd := stack.StartEtcd()
		api = stack.StartAPIServer(etcd)
		api.DefineNetworks()
		api.DefineNetwork(secondNetwork, map[string]any{
			"cniVersion": "0.3.1", "name": secondNetwork, "type": "macvlan", "master": machine.Uplink,
			"ipam": map[string]any{"type": "host-local", "dataDir": GinkgoT().TempDir(), "subnet": "10.200.0.0/24"},
		})
		calico = stack.PrepareKubernetesCalico(etcd, api)
		cni = stack.NewCNI(calico.Environment()...)
		use(stack.Chain{})
		containerd = stack.StartContainerd(cni)
		stack.StartControllerManager(api)
		stack.StartScheduler(api)
		stack.StartKubelet(api, containerd)
		before = state(Default)
	})

	It("shows no interface and no mac without the plugin", func() {
		api.Apply(stack.PodObject("before", nil))
		pod, inspected, eth0 := running("before")

		show("node", "before", pod.NetworkStatus())
		Expect(pod.NetworkStatus()).To(MatchJSON(statusOf(map[string]any{
			"name": stack.CalicoNetwork, "ips": eth0.Addresses, "default": true, "dns": map[string]any{},
		})))
		Expect(inspected.Eth0.Mac).To(BeEmpty())
		Expect(inspected.Eth0.Sandbox).To(BeEmpty())
		Expect(pod.Status.PodIP).To(Equal(eth0.Addresses[0]))
		expectPodIP(pod)
	})

	It("shows interface, mac and sandbox with the plugin, and the same address", func() {
		use(stack.Chain{Enriched: true})
		api.Apply(stack.PodObject("after", nil))
		pod, inspected, eth0 := running("after")

		show("node", "after", pod.NetworkStatus())
		Expect(pod.NetworkStatus()).To(MatchJSON(statusOf(primaryStatus(eth0))))
		Expect(inspected.Eth0.Mac).To(Equal(eth0.MAC))
		Expect(inspected.Eth0.Sandbox).To(Equal(inspected.Netns))
		Expect(inspected.Eth0.IPConfigs).To(HaveExactElements(HaveField("IP", eth0.Addresses[0])))
		Expect(pod.Status.PodIP).To(Equal(eth0.Addresses[0]))
		expectPodIP(pod)
	})

	It("shows a second network beside the primary one", func() {
		api.Apply(stack.PodObject("two-networks", map[string]string{stack.Networks: secondNetwork}))
		pod, inspected, eth0 := running("two-networks")
		net1, err := sandbox.Read(inspected.Netns, "net1")
		Expect(err).NotTo(HaveOccurred())

		show("node", "two networks", pod.NetworkStatus())
		Expect(pod.NetworkStatus()).To(MatchJSON(statusOf(primaryStatus(eth0), secondStatus(net1))))
		Expect(inspected.Eth0.Mac).To(Equal(eth0.MAC))
		expectPodIP(pod)
	})

	if sandbox.CanShape() {
		// With the bandwidth plugin's link the Result names two on the host, and multus writes nothing of either.
		It("shows a pod whose egress is limited, of which nothing is known without the plugin", func() {
			limited := map[string]string{stack.Egress: "10M"}
			use(stack.Chain{Shaped: true})
			api.Apply(stack.PodObject("limited-before", limited))
			pod, _, _ := running("limited-before")
			show("node, egress limited", "before", pod.NetworkStatus())
			Expect(pod.NetworkStatus()).To(BeEmpty())
			Expect(sandbox.HostLinks()).To(ContainElement(HavePrefix("bwp")))

			use(stack.Chain{Shaped: true, Enriched: true})
			api.Apply(stack.PodObject("limited-after", limited))
			pod, inspected, eth0 := running("limited-after")
			show("node, egress limited", "after", pod.NetworkStatus())
			Expect(pod.NetworkStatus()).To(MatchJSON(statusOf(primaryStatus(eth0))))
			Expect(inspected.Eth0.Mac).To(Equal(eth0.MAC))
			expectPodIP(pod)

			remove("pod/limited-before")
			remove("pod/limited-after")
			use(stack.Chain{Enriched: true})
		})
	}

	It("leaves nothing of deleted pods, with and without the plugin at their start", func() {
		remove("pod/before")
		remove("pod/after")
		remove("pod/two-networks")
		expectClean()
	})

	It(fmt.Sprintf("is right for %d pods at once", manyPods), func() {
		api.Apply(stack.DeploymentObject("many", manyPods))
		_, err := api.Kubectl("rollout", "status", "deployment/many", "--timeout=5m")
		Expect(err).NotTo(HaveOccurred())

		pods, err := api.Pods("app=many")
		Expect(err).NotTo(HaveOccurred())
		Expect(pods).To(HaveLen(manyPods))
		sandboxes, err := containerd.Sandboxes()
		Expect(err).NotTo(HaveOccurred())
		macs := map[string]string{}
		for _, pod := range pods {
			inspected, eth0 := inspect(sandboxes, pod.Metadata.Name)
			Expect(pod.NetworkStatus()).To(MatchJSON(statusOf(primaryStatus(eth0))))
			Expect(inspected.Eth0.Mac).To(Equal(eth0.MAC))
			Expect(inspected.Eth0.Sandbox).To(Equal(inspected.Netns))
			expectPodIP(pod)
			Expect(macs).NotTo(HaveKey(eth0.MAC))
			macs[eth0.MAC] = pod.Metadata.Name
		}

		remove("deployment/many")
		expectClean()
	})

	It("keeps its pods when containerd is restarted, and can still delete them", func() {
		api.Apply(stack.DeploymentObject("survivors", 3), stack.PodObject("two-networks", map[string]string{stack.Networks: secondNetwork}))
		_, err := api.Kubectl("rollout", "status", "deployment/survivors", "--timeout=2m")
		Expect(err).NotTo(HaveOccurred())
		running("two-networks")
		sandboxes, err := containerd.Sandboxes()
		Expect(err).NotTo(HaveOccurred())
		Expect(sandboxes).To(HaveLen(4))

		containerd.Restart()
		Expect(containerd.Sandboxes()).To(Equal(sandboxes))
		for name := range sandboxes {
			inspected, eth0 := inspect(sandboxes, name)
			pod, err := api.Pod(name)
			Expect(err).NotTo(HaveOccurred())
			Expect(pod.Status.Phase).To(Equal("Running"))
			Expect(inspected.Eth0.Mac).To(Equal(eth0.MAC))
			Expect(inspected.Eth0.Sandbox).To(Equal(inspected.Netns))
			expectPodIP(pod)
		}

		remove("deployment/survivors")
		remove("pod/two-networks")
		expectClean()
	})
})

// nodeState is what must be the same before a pod comes and after it has gone.
type nodeState struct {
	Links, Leases, CacheFiles, Netns []string
	Endpoints, Sandboxes             int
}
