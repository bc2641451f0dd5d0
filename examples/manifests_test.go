// SPDX-License-Identifier: Apache-2.0

package examples_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"go.yaml.in/yaml/v3"
)

// manifest is what the tests read of any object.
type manifest struct {
	Kind     string
	Metadata struct {
		Name, Namespace     string
		Labels, Annotations map[string]string
	}
	Spec struct {
		UpdateStrategy struct {
			RollingUpdate struct {
				MaxUnavailable string `yaml:"maxUnavailable"`
				MaxSurge       int    `yaml:"maxSurge"`
			} `yaml:"rollingUpdate"`
		} `yaml:"updateStrategy"`
		Template struct {
			Metadata struct{ Labels, Annotations map[string]string }
			Spec     podSpec
		}
		Hard          map[string]string
		ScopeSelector struct {
			MatchExpressions []map[string]any `yaml:"matchExpressions"`
		} `yaml:"scopeSelector"`
	}
	AutomountServiceAccountToken *bool `yaml:"automountServiceAccountToken"`

	// Of SecurityContextConstraints.
	Users                    []string
	Volumes                  []string
	AllowedCapabilities      []string          `yaml:"allowedCapabilities"`
	AllowPrivilegedContainer bool              `yaml:"allowPrivilegedContainer"`
	AllowHostDirVolumePlugin bool              `yaml:"allowHostDirVolumePlugin"`
	AllowHostNetwork         bool              `yaml:"allowHostNetwork"`
	SELinuxContext           map[string]string `yaml:"seLinuxContext"`
}

type podSpec struct {
	ServiceAccountName           string           `yaml:"serviceAccountName"`
	AutomountServiceAccountToken *bool            `yaml:"automountServiceAccountToken"`
	HostNetwork                  bool             `yaml:"hostNetwork"`
	HostPID                      bool             `yaml:"hostPID"`
	PriorityClassName            string           `yaml:"priorityClassName"`
	Tolerations                  []map[string]any `yaml:"tolerations"`
	Containers                   []container
	Volumes                      []volume
}

type container struct {
	Image          string
	Args           []string
	Env            []struct{ Name, Value string }
	ReadinessProbe *struct {
		Exec struct{ Command []string }
	} `yaml:"readinessProbe"`
	Resources struct {
		Requests, Limits map[string]string
	}
	SecurityContext map[string]any `yaml:"securityContext"`
	VolumeMounts    []mount        `yaml:"volumeMounts"`
}

type mount struct {
	Name      string
	MountPath string `yaml:"mountPath"`
	ReadOnly  bool   `yaml:"readOnly"`
}

type volume struct {
	Name     string
	HostPath struct{ Path, Type string } `yaml:"hostPath"`
}

// env gives the container's variables.
func (c container) env() map[string]string {
	values := map[string]string{}
	for _, v := range c.Env {
		values[v.Name] = v.Value
	}
	return values
}

// decode reads all objects of a YAML stream.
func decode(stream []byte) []manifest {
	GinkgoHelper()
	var objects []manifest
	for decoder := yaml.NewDecoder(bytes.NewReader(stream)); ; {
		var object manifest
		err := decoder.Decode(&object)
		if errors.Is(err, io.EOF) {
			return objects
		}
		Expect(err).NotTo(HaveOccurred())
		objects = append(objects, object)
	}
}

// only returns the object of a kind, of which there has to be one.
func only(objects []manifest, kind string) manifest {
	GinkgoHelper()
	var found []manifest
	for _, object := range objects {
		if object.Kind == kind {
			found = append(found, object)
		}
	}
	Expect(found).To(HaveLen(1), kind)
	return found[0]
}

// base reads the base as it is written, in the order of its kustomization: it has nothing that would need rendering.
func base() []manifest {
	GinkgoHelper()
	var kustomization struct{ Resources []string }
	dir := filepath.Join("kubernetes", "base")
	content, err := os.ReadFile(filepath.Join(dir, "kustomization.yaml"))
	Expect(err).NotTo(HaveOccurred())
	Expect(yaml.Unmarshal(content, &kustomization)).To(Succeed())
	var objects []manifest
	for _, name := range kustomization.Resources {
		content, err := os.ReadFile(filepath.Join(dir, name))
		Expect(err).NotTo(HaveOccurred())
		objects = append(objects, decode(content)...)
	}
	return objects
}

// kustomizer is where kubectl is, or empty. The overlays can only be rendered with it; e2e/cluster builds one, and renders
// them all as well.
var kustomizer, _ = exec.LookPath("kubectl")

// render gives the objects of a kustomization.
func render(dir string) []manifest {
	GinkgoHelper()
	var stderr strings.Builder
	cmd := exec.Command(kustomizer, "kustomize", dir)
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	Expect(err).NotTo(HaveOccurred(), "%s", &stderr)
	Expect(stderr.String()).To(BeEmpty(), "warnings")
	return decode(output)
}
