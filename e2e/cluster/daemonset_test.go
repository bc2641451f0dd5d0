// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"

	"github.com/result-enricher/result-enricher/e2e/cluster/internal/churn"
	"github.com/result-enricher/result-enricher/e2e/cluster/internal/hostpath"
	"github.com/result-enricher/result-enricher/e2e/cluster/internal/machine"
	"github.com/result-enricher/result-enricher/e2e/cluster/internal/release"
	"github.com/result-enricher/result-enricher/e2e/cluster/internal/stack"
	"github.com/result-enricher/result-enricher/e2e/cluster/internal/watchfile"
)

// somebody is a user who is not root.
const somebody = 4711

var _ = Describe("the DaemonSet on a real node", Ordered, func() {
	const (
		// calm is how often the primary rewrites its file with the entry put back at once, fight how often beyond that.
		// The first write was that of the installation; after five in a minute there is one in ten seconds.
		calm, fight = 4, 2
		// pods is how many there are at a time.
		pods = 6
	)

	var (
		api        *stack.APIServer
		calico     *stack.Calico
		cni        *stack.CNI
		containerd *stack.Containerd
		first      *release.Release
		second     *release.Release
		manifests  string
		conflist   string
		plugin     string
	)

	apply := func(args ...string) {
		GinkgoHelper()
		_, err := api.Kubectl(append([]string{"apply", "--warnings-as-errors"}, args...)...)
		Expect(err).NotTo(HaveOccurred())
	}

	rolledOut := func() {
		GinkgoHelper()
		_, err := api.Kubectl("rollout", "status", "daemonset/result-enricher", "-n", "result-enricher", "--timeout=3m")
		Expect(err).NotTo(HaveOccurred())
	}

	ready := func(pod string) string {
		GinkgoHelper()
		_, err := api.Kubectl("wait", "--for=condition=Ready", "--timeout=2m", "pod/"+pod)
		Expect(err).NotTo(HaveOccurred())
		found, err := api.Pod(pod)
		Expect(err).NotTo(HaveOccurred())
		return found.NetworkStatus()
	}

	// writePrimary does what Calico's installer does at its start.
	writePrimary := func() {
		GinkgoHelper()
		cni.Write(filepath.Base(conflist), calico.Conflist(stack.Chain{}))
	}

	// with gives the base one of the project's releases, as the README tells people to.
	with := func(r *release.Release, resource string) string {
		GinkgoHelper()
		dir := filepath.Join(manifests, "overlays", "e2e-"+r.Version+"-"+filepath.Base(resource))
		Expect(os.MkdirAll(dir, 0o755)).To(Succeed())
		Expect(os.WriteFile(filepath.Join(dir, "kustomization.yaml"), fmt.Appendf(nil,
			"resources: [../../%s]\nimages: [{name: %s, newTag: %q}]\n", resource, release.Repository, r.Version), 0o600)).To(Succeed())
		return dir
	}

	BeforeAll(func() {
		first, second = release.Build("v1-e2e"), release.Build("v2-e2e")
		Expect(first.Plugin()).NotTo(Equal(second.Plugin()))
		manifests = GinkgoT().TempDir()
		Expect(os.CopyFS(manifests, os.DirFS(filepath.Join("..", "..", "examples", "kubernetes")))).To(Succeed())

		etcd := stack.StartEtcd()
		api = stack.StartAPIServer(etcd)
		api.DefineNetworks()
		calico = stack.PrepareKubernetesCalico(etcd, api)
		cni = standardDirectories(stack.NewCNI(calico.Environment()...))
		conflist, plugin = filepath.Join(cni.ConfDir, "10-calico.conflist"), filepath.Join(cni.BinDir, "result-enricher")
		stack.WriteThinMultus(cni, api, stack.ByPath, calico.Conflist(stack.Chain{}))
		containerd = stack.StartContainerd(cni)
		first.Import(containerd)
		second.Import(containerd)
		stack.StartControllerManager(api)
		stack.StartScheduler(api)
		stack.StartKubelet(api, containerd)
		// All namespaces that are not the DaemonSet's own.
		_, err := api.Kubectl("label", "namespace", "--all", "pod-security.kubernetes.io/enforce=baseline")
		Expect(err).NotTo(HaveOccurred())
	})

	It("finds pods without interface, and a cluster that forbids such pods elsewhere", func() {
		api.Apply(stack.PodObject("before", nil))
		status := ready("before")
		show("DaemonSet", "before", status)
		Expect(describesInterface(status)).To(BeFalse(), status)

		file := filepath.Join(GinkgoT().TempDir(), "pod.yaml")
		Expect(os.WriteFile(file, []byte("{kind: Pod, apiVersion: v1, metadata: {name: elsewhere, namespace: default}, "+
			"spec: {hostNetwork: true, containers: [{name: c, image: i}]}}"), 0o600)).To(Succeed())
		_, err := api.Kubectl("apply", "--dry-run=server", "-f", file)
		Expect(err).To(MatchError(ContainSubstring(`violates PodSecurity "baseline:latest"`)))
	})

	It("is accepted by the API server on every platform, without a warning", func() {
		apply("-f", filepath.Join(manifests, "base", "namespace.yaml"))
		overlays, err := filepath.Glob(filepath.Join(manifests, "overlays", "*"))
		Expect(err).NotTo(HaveOccurred())
		Expect(overlays).To(HaveLen(4))
		for _, overlay := range append(overlays, filepath.Join(manifests, "base")) {
			rendered, err := api.Kubectl("kustomize", overlay)
			Expect(err).NotTo(HaveOccurred())
			file := filepath.Join(GinkgoT().TempDir(), "rendered.yaml")
			Expect(os.WriteFile(file, []byte(withoutOpenShiftKinds(rendered)), 0o600)).To(Succeed())
			apply("--dry-run=server", "--validate=strict", "-f", file)
		}
	})

	It("puts the plugin on the node, with two capabilities and no more", func() {
		began := time.Now()
		apply("-k", with(first, "base"))
		rolledOut()
		tell("rolled out, ready, in %s", time.Since(began).Round(100*time.Millisecond))

		Expect(os.ReadFile(plugin)).To(Equal(first.Plugin()))
		Expect(watchfile.Enriched(conflist)).To(BeTrue())
		process := installer()
		Expect(process).To(SatisfyAll(
			// CHOWN is bit 0, DAC_OVERRIDE bit 1.
			HaveKeyWithValue("CapEff", "0000000000000003"),
			HaveKeyWithValue("CapBnd", "0000000000000003"),
			HaveKeyWithValue("NoNewPrivs", "1"),
			HaveKeyWithValue("Seccomp", "2"),
			HaveKeyWithValue("Uid", "0\t0\t0\t0"),
		))
		tell("memory of the installer: %s resident", process["VmRSS"])
		expectStatus(statusInPod(api, containerd), conflist)

		api.Apply(stack.PodObject("after", nil))
		status := ready("after")
		show("DaemonSet", "after", status)
		Expect(describesInterface(status)).To(BeTrue(), status)
	})

	It("changes nothing on the node when its pod ends", func() {
		before := append(identity(conflist), identity(plugin)...)
		watch := watchfile.Start(conflist)
		_, err := api.Kubectl("delete", "pod", "-n", "result-enricher", "--all", "--timeout=1m")
		Expect(err).NotTo(HaveOccurred())
		Expect(append(identity(conflist), identity(plugin)...)).To(Equal(before))
		rolledOut()
		Expect(append(identity(conflist), identity(plugin)...)).To(Equal(before))
		seen := watch.Stop()
		Expect(seen).To(SatisfyAll(HaveField("Torn", BeEmpty()), HaveField("Without", BeZero())))
	})

	It("heals the conflist that the primary rewrites under load", func() {
		load := churn.Start(api, "load", pods)
		watch := watchfile.Start(conflist)
		heal := func() time.Duration {
			GinkgoHelper()
			// Pods must be under way before and behind each.
			more(load, pods/2)
			writePrimary()
			began := time.Now()
			Eventually(watchfile.Enriched).WithArguments(conflist).WithTimeout(20 * time.Second).WithPolling(time.Millisecond).Should(BeTrue())
			return time.Since(began).Round(time.Millisecond)
		}
		var times []time.Duration
		for range calm {
			times = append(times, heal())
		}
		more(load, pods)
		windows := without(load.Statuses())
		tell("healed in %v; of %d pods that came meanwhile, %d fell into a window", times, len(load.Statuses()), windows)
		Expect(times).To(HaveEach(BeNumerically("<", 2*time.Second)))

		// As if somebody fought for the file.
		for range fight {
			times = append(times, heal())
		}
		seen := watch.Stop()
		statuses := load.Stop()
		tell("healed in %v when rewritten more than five times in a minute; of %d pods in all, %d fell into a window; %d reads of the conflist, none torn",
			times[calm:], len(statuses), without(statuses), seen.Reads)
		Expect(seen.Torn).To(BeEmpty())
		Expect(len(statuses)).To(BeNumerically(">", (calm+fight)*pods/2))
		expectNoFault(api)
	})

	It("keeps the owner, the mode and the attributes of a conflist that is not root's", func() {
		const attribute, value = "user.result-enricher-e2e", "kept"
		file := conflist + ".new"
		Expect(os.WriteFile(file, calico.Conflist(stack.Chain{}), 0o640)).To(Succeed())
		Expect(unix.Setxattr(file, attribute, []byte(value), 0)).To(Succeed())
		Expect(os.Chown(file, somebody, somebody)).To(Succeed())
		Expect(os.Rename(file, conflist)).To(Succeed())
		Eventually(watchfile.Enriched).WithArguments(conflist).WithTimeout(30 * time.Second).Should(BeTrue())

		info, err := os.Stat(conflist)
		Expect(err).NotTo(HaveOccurred())
		Expect(info.Mode()).To(Equal(os.FileMode(0o640)))
		Expect(info.Sys()).To(SatisfyAll(HaveField("Uid", BeEquivalentTo(somebody)), HaveField("Gid", BeEquivalentTo(somebody))))
		got := make([]byte, 2*len(value))
		n, err := unix.Getxattr(conflist, attribute, got)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(got[:n])).To(Equal(value))
		writePrimary()
		Eventually(watchfile.Enriched).WithArguments(conflist).WithTimeout(30 * time.Second).Should(BeTrue())
	})

	It("is upgraded while pods come and go", func() {
		load := churn.Start(api, "upgrade", pods)
		more(load, pods)
		watch := watchfile.Start(conflist)
		began := time.Now()
		apply("-k", with(second, "base"))
		rolledOut()
		tell("upgraded in %s", time.Since(began).Round(100*time.Millisecond))
		Eventually(os.ReadFile).WithArguments(plugin).Should(Equal(second.Plugin()))
		more(load, pods)
		seen := watch.Stop()
		statuses := load.Stop()

		Expect(seen.Torn).To(BeEmpty())
		Expect(seen.Without).To(BeZero(), "the entry never left")
		Expect(without(statuses)).To(BeZero(), "%v", statuses)
		tell("%d pods came during the upgrade, all repaired", len(statuses))
		expectNoFault(api)
	})

	It("is uninstalled under pods that live, which can be deleted afterwards", func() {
		api.Apply(stack.DeploymentObject("survivors", pods))
		_, err := api.Kubectl("rollout", "status", "deployment/survivors", "--timeout=2m")
		Expect(err).NotTo(HaveOccurred())

		apply("-k", with(second, "overlays/uninstall"))
		rolledOut()
		Eventually(os.ReadFile).WithArguments(conflist).Should(Equal(calico.Conflist(stack.Chain{})), "the primary's, byte for byte")
		Expect(os.ReadFile(plugin)).To(Equal(second.Plugin()), "the binary stays")
		_, err = second.Enrichctl("uninstall", "--purge")
		Expect(err).To(MatchError(ContainSubstring("still needed")), "pods were made with it")

		began := time.Now()
		_, err = api.Kubectl("delete", "deployment", "survivors", "--cascade=foreground", "--timeout=2m")
		Expect(err).NotTo(HaveOccurred())
		_, err = api.Kubectl("delete", "pod", "before", "after", "--timeout=1m")
		Expect(err).NotTo(HaveOccurred())
		Eventually(api.Pods).WithArguments("").WithTimeout(time.Minute).Should(BeEmpty(), "none stays terminating")
		tell("%d pods of the time before uninstalling gone in %s", pods+2, time.Since(began).Round(100*time.Millisecond))

		api.Apply(stack.PodObject("afterwards", nil))
		status := ready("afterwards")
		show("DaemonSet", "uninstalled", status)
		Expect(describesInterface(status)).To(BeFalse(), status)
		expectNoFault(api)
	})

	It("leaves nothing but the binary, which can be removed at the end", func() {
		_, err := api.Kubectl("delete", "-k", filepath.Join(manifests, "overlays", "uninstall"), "--timeout=2m")
		Expect(err).NotTo(HaveOccurred())
		Expect(os.ReadFile(conflist)).To(Equal(calico.Conflist(stack.Chain{})))
		Expect(os.ReadFile(plugin)).To(Equal(second.Plugin()))
		_, err = second.Enrichctl("uninstall", "--purge")
		Expect(err).NotTo(HaveOccurred())
		Expect(plugin).NotTo(BeAnExistingFile())
		Expect(filesBelow("/etc/cni")).NotTo(ContainElement(ContainSubstring("result-enricher")), "a temporary file is left")
		Expect(filesBelow("/opt/cni")).NotTo(ContainElement(ContainSubstring("result-enricher")), "a temporary file is left")
		_, err = api.Kubectl("delete", "pod", "afterwards", "--timeout=1m")
		Expect(err).NotTo(HaveOccurred())
	})
})

// standardDirectories gives the node the directories that the base names, without the plugin.
func standardDirectories(built *stack.CNI) *stack.CNI {
	GinkgoHelper()
	hostpath.Provide("/etc/cni", "net.d")
	hostpath.Provide("/opt/cni", "bin")
	plugins, err := os.ReadDir(built.BinDir)
	Expect(err).NotTo(HaveOccurred())
	node := *built
	node.BinDir, node.ConfDir = "/opt/cni/bin", "/etc/cni/net.d"
	// As packages of plugins often leave it: only who may override permissions can write there.
	Expect(os.Chown(node.BinDir, somebody, somebody)).To(Succeed())
	for _, entry := range plugins {
		if entry.Name() == "result-enricher" {
			continue
		}
		target, err := os.Readlink(filepath.Join(built.BinDir, entry.Name()))
		Expect(err).NotTo(HaveOccurred())
		Expect(os.Symlink(target, filepath.Join(node.BinDir, entry.Name()))).To(Succeed())
	}
	return &node
}

// describesInterface reports whether a network-status has interface and mac of the default network, both or neither.
func describesInterface(status string) bool {
	GinkgoHelper()
	var entries []struct {
		Interface, MAC string
		Default        bool
	}
	Expect(json.Unmarshal([]byte(status), &entries)).To(Succeed(), status)
	Expect(entries).To(HaveLen(1))
	Expect(entries[0].Default).To(BeTrue())
	if entries[0].Interface == "" {
		Expect(entries[0].MAC).To(BeEmpty())
		return false
	}
	Expect(entries[0].Interface).To(Equal("eth0"))
	Expect(entries[0].MAC).To(MatchRegexp(`^([0-9a-f]{2}:){5}[0-9a-f]{2}$`))
	return true
}

// without counts the pods whose network-status has no interface.
func without(statuses map[string]string) int {
	GinkgoHelper()
	count := 0
	for _, status := range statuses {
		if !describesInterface(status) {
			count++
		}
	}
	return count
}

// more waits for that many pods to come.
func more(load *churn.Churn, pods int) {
	GinkgoHelper()
	count := func() int { return len(load.Statuses()) }
	Eventually(count).WithTimeout(time.Minute).Should(BeNumerically(">=", count()+pods))
}

// tell puts a line into the last lines of the suite's output.
func tell(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	AddReportEntry("daemonset", line, ReportEntryVisibilityNever)
	GinkgoWriter.Println(line)
}

var _ = ReportAfterSuite("daemonset", func(report Report) {
	for _, spec := range report.SpecReports {
		for _, entry := range spec.ReportEntries {
			if entry.Name == "daemonset" {
				fmt.Printf("DaemonSet on %s: %s\n", machine.Hostname, entry.StringRepresentation())
			}
		}
	}
})
