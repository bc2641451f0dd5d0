// SPDX-License-Identifier: Apache-2.0

package examples_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"go.yaml.in/yaml/v3"
)

const cacheDir = "/var/lib/cni"

// platform is what differs between the overlays.
type platform struct {
	confDir, runtimeConfDir, binDir string
	// parents are mounted for writing.
	parents []string
	// readOnly are mounted for reading.
	readOnly []string
}

var usual = platform{
	confDir: "/etc/cni/net.d", binDir: "/opt/cni/bin",
	parents: []string{"/etc/cni", "/opt/cni"}, readOnly: []string{cacheDir},
}

var _ = Describe("the DaemonSet", func() {
	It("is the base as it is written", func() { expectObjects(base(), usual) })

	if kustomizer != "" {
		DescribeTable("is right where it is rendered",
			func(overlay string, p platform) {
				expectObjects(render(filepath.Join("kubernetes", overlay)), p)
			},
			Entry("base", "base", usual),
			Entry("OpenShift", "overlays/openshift", openshift),
			Entry("MicroK8s", "overlays/microk8s", microk8s),
			Entry("GKE", "overlays/gke", gke),
		)

		DescribeTable("uninstalls where the component is added",
			func(overlay string, p platform) {
				objects := withUninstall(overlay)
				expectSurroundings(objects)
				ds := only(objects, "DaemonSet")
				c := expectPod(ds, p)
				Expect(c.Args).To(Equal([]string{"uninstall", "--watch"}))
				// It asks for the entry, without which no pod would ever be ready.
				Expect(c.ReadinessProbe).To(BeNil())
			},
			Entry("the overlay", "overlays/uninstall", usual),
			Entry("OpenShift", "overlays/openshift", openshift),
			Entry("MicroK8s", "overlays/microk8s", microk8s),
			Entry("GKE", "overlays/gke", gke),
		)

		It("is allowed on OpenShift what it asks for, by name", func() {
			objects := render("kubernetes/overlays/openshift")
			scc := only(objects, "SecurityContextConstraints")
			Expect(scc.Users).To(Equal([]string{"system:serviceaccount:result-enricher:result-enricher"}))
			Expect(scc.AllowedCapabilities).To(ConsistOf("DAC_OVERRIDE", "CHOWN"))
			Expect(scc.Volumes).To(Equal([]string{"hostPath"}))
			Expect(scc.AllowHostDirVolumePlugin).To(BeTrue())
			Expect(scc.AllowHostNetwork).To(BeTrue())
			Expect(scc.AllowPrivilegedContainer).To(BeFalse())
			Expect(scc.SELinuxContext).To(HaveKeyWithValue("type", "RunAsAny"))
			ds := only(objects, "DaemonSet")
			Expect(ds.Spec.Template.Metadata.Annotations).To(HaveKeyWithValue("openshift.io/required-scc", scc.Metadata.Name))
			Expect(only(objects, "Namespace").Metadata.Annotations).To(HaveKeyWithValue("openshift.io/node-selector", ""))
		})

		It("has the quota on GKE that its priority needs", func() {
			quota := only(render("kubernetes/overlays/gke"), "ResourceQuota")
			Expect(quota.Metadata.Namespace).To(Equal("result-enricher"))
			Expect(quota.Spec.Hard).To(HaveKeyWithValue("pods", "20000"))
			Expect(quota.Spec.ScopeSelector.MatchExpressions).To(HaveExactElements(SatisfyAll(
				HaveKeyWithValue("scopeName", "PriorityClass"),
				HaveKeyWithValue("operator", "In"),
				HaveKeyWithValue("values", []any{"system-node-critical"}),
			)))
		})
	}

	It("has no file that no kustomization names", func() {
		var unnamed []string
		err := filepath.WalkDir("kubernetes", func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || entry.Name() == "kustomization.yaml" {
				return err
			}
			content, err := os.ReadFile(filepath.Join(filepath.Dir(path), "kustomization.yaml"))
			if err != nil {
				return err
			}
			var kustomization struct {
				Resources []string
				Patches   []struct{ Path string }
			}
			if err := yaml.Unmarshal(content, &kustomization); err != nil {
				return err
			}
			names := kustomization.Resources
			for _, patch := range kustomization.Patches {
				names = append(names, patch.Path)
			}
			for _, name := range names {
				if name == entry.Name() {
					return nil
				}
			}
			unnamed = append(unnamed, path)
			return nil
		})
		Expect(err).NotTo(HaveOccurred())
		Expect(unnamed).To(BeEmpty())
	})
})

var (
	openshift = platform{
		confDir: "/var/run/multus/cni/net.d", runtimeConfDir: "/etc/kubernetes/cni/net.d", binDir: "/var/lib/cni/bin",
		// The bin directory lies beside the caches.
		parents: []string{"/var/run/multus/cni", cacheDir}, readOnly: []string{"/etc/kubernetes/cni"},
	}
	microk8s = platform{
		confDir: "/var/snap/microk8s/current/args/cni-network", binDir: "/var/snap/microk8s/current/opt/cni/bin",
		parents: []string{"/var/snap/microk8s"}, readOnly: []string{cacheDir},
	}
	gke = platform{
		confDir: "/etc/cni/net.d", binDir: "/home/kubernetes/bin",
		parents: []string{"/etc/cni", "/home/kubernetes"}, readOnly: []string{cacheDir},
	}
)

// withUninstall renders an overlay with the component, as its comment tells people to.
func withUninstall(overlay string) []manifest {
	GinkgoHelper()
	if overlay == "overlays/uninstall" {
		return render(filepath.Join("kubernetes", overlay))
	}
	// Kustomize does not take absolute paths.
	dir := GinkgoT().TempDir()
	Expect(os.CopyFS(dir, os.DirFS("kubernetes"))).To(Succeed())
	mine := filepath.Join(dir, "overlays", "mine")
	Expect(os.Mkdir(mine, 0o755)).To(Succeed())
	Expect(os.WriteFile(filepath.Join(mine, "kustomization.yaml"), []byte(
		"resources: [../"+filepath.Base(overlay)+"]\ncomponents: [../../uninstall]\n"), 0o600)).To(Succeed())
	return render(mine)
}

func expectObjects(objects []manifest, p platform) {
	GinkgoHelper()
	expectSurroundings(objects)
	ds := only(objects, "DaemonSet")
	Expect(ds.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable).To(Equal("10%"))
	Expect(ds.Spec.UpdateStrategy.RollingUpdate.MaxSurge).To(BeZero())
	c := expectPod(ds, p)
	Expect(c.Args).To(Equal([]string{"install", "--watch"}))
	Expect(c.ReadinessProbe).NotTo(BeNil())
	Expect(c.ReadinessProbe.Exec.Command).To(Equal([]string{"/enrichctl", "status", "--probe"}))
}

// expectSurroundings looks at everything but the pod: there must be a namespace of its own, and no way to the API server.
func expectSurroundings(objects []manifest) {
	GinkgoHelper()
	namespace := only(objects, "Namespace")
	Expect(namespace.Metadata.Name).To(Equal("result-enricher"))
	Expect(namespace.Metadata.Labels).To(HaveKeyWithValue("pod-security.kubernetes.io/enforce", "privileged"))
	Expect(only(objects, "ServiceAccount").AutomountServiceAccountToken).To(HaveValue(BeFalse()))
	for _, object := range objects {
		Expect(object.Kind).NotTo(ContainSubstring("Role"))
		if object.Kind != "Namespace" && object.Kind != "SecurityContextConstraints" { // which are in none
			Expect(object.Metadata.Namespace).To(Equal("result-enricher"))
		}
	}
}

// expectPod looks at all that installing and uninstalling have in common.
func expectPod(ds manifest, p platform) container {
	GinkgoHelper()
	pod := ds.Spec.Template.Spec
	Expect(pod.ServiceAccountName).To(Equal("result-enricher"))
	Expect(pod.AutomountServiceAccountToken).To(HaveValue(BeFalse()))
	Expect(pod.HostNetwork).To(BeTrue())
	Expect(pod.HostPID).To(BeFalse())
	Expect(pod.PriorityClassName).To(Equal("system-node-critical"))
	// Without key and effect: everything.
	Expect(pod.Tolerations).To(Equal([]map[string]any{{"operator": "Exists"}}))
	Expect(pod.Containers).To(HaveLen(1))
	c := pod.Containers[0]
	Expect(c.Image).To(Equal("localhost/result-enricher:latest"), "the name that make image gives")
	Expect(c.SecurityContext).To(Equal(map[string]any{
		"runAsUser": 0, "runAsGroup": 0,
		"privileged": false, "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
		"capabilities":   map[string]any{"drop": []any{"ALL"}, "add": []any{"DAC_OVERRIDE", "CHOWN"}},
		"seccompProfile": map[string]any{"type": "RuntimeDefault"},
		"seLinuxOptions": map[string]any{"type": "spc_t"},
	}))
	for _, resource := range []string{"cpu", "memory"} {
		Expect(c.Resources.Requests).To(HaveKey(resource))
		Expect(c.Resources.Limits).To(HaveKey(resource))
	}
	expectDirectories(pod, c, p)
	return c
}

// expectDirectories holds the mounts against what enrichctl is told.
func expectDirectories(pod podSpec, c container, p platform) {
	GinkgoHelper()
	env := map[string]string{"ENRICHCTL_CNI_CONF_DIR": p.confDir, "ENRICHCTL_CNI_BIN_DIR": p.binDir}
	if p.runtimeConfDir != "" {
		env["ENRICHCTL_RUNTIME_CONF_DIR"] = p.runtimeConfDir
	}
	Expect(c.env()).To(Equal(env))

	volumes := map[string]volume{}
	for _, v := range pod.Volumes {
		volumes[v.Name] = v
	}
	Expect(volumes).To(HaveLen(len(c.VolumeMounts)))
	var writable, readOnly []string
	for _, m := range c.VolumeMounts {
		Expect(volumes).To(HaveKey(m.Name))
		on := volumes[m.Name].HostPath
		Expect(on.Path).To(Equal(m.MountPath), "the same path as on the node")
		if m.ReadOnly {
			readOnly = append(readOnly, m.MountPath)
			continue
		}
		writable = append(writable, m.MountPath)
		// What is written to must not be made by the runtime: it would be a directory that nobody uses.
		Expect(on.Type).To(Equal("Directory"))
	}
	Expect(writable).To(ConsistOf(p.parents))
	Expect(readOnly).To(ConsistOf(p.readOnly))
	for _, dir := range env {
		Expect(append(writable, readOnly...)).To(ContainElement(Satisfy(func(parent string) bool {
			return strings.HasPrefix(dir, parent+"/")
		})), "a parent of %s is mounted, not the directory itself", dir)
	}
}
