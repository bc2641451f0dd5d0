// SPDX-License-Identifier: Apache-2.0

// Package release makes releases of the project from the working tree: both programs with a version of their own, and
// the image of them that the project's Dockerfile describes.
//
// It runs go and buildah, without a network: the modules of the main module have to be in the module cache, where any
// earlier build of it has put them.
package release

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/e2e/cluster/internal/machine"
	"github.com/result-enricher/result-enricher/e2e/cluster/internal/process"
	"github.com/result-enricher/result-enricher/e2e/cluster/internal/stack"
)

// Repository is the image's name in the manifests, without the tag.
const Repository = "localhost/result-enricher"

// root is the project's directory, seen from the tests.
var root = filepath.Join("..", "..")

// Release is one release.
type Release struct {
	// Version is what both programs say of themselves, and the image's tag.
	Version string
	// Programs is the directory with the two of them.
	Programs string

	archive string
}

// Build makes a release. Its files are removed at the end of the running Ginkgo node.
func Build(version string) *Release {
	ginkgo.GinkgoHelper()
	dir, err := os.MkdirTemp(machine.Dir(), "release-")
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	ginkgo.DeferCleanup(os.RemoveAll, dir)
	r := &Release{Version: version, Programs: filepath.Join(dir, "bin"), archive: filepath.Join(dir, "image.tar")}

	build := exec.Command("go", "build", "-C", root, "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X main.version="+version,
		"-o", r.Programs+string(filepath.Separator), "./plugin/result-enricher", "./enrichctl")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOPROXY=off")
	_, err = process.TryOutput(build)
	gomega.Expect(err).NotTo(gomega.HaveOccurred(), "where modules are missing, run go mod download in the project's directory first")

	buildah := stack.Buildah(dir)
	buildah("bud", "--isolation", "chroot", "--file", filepath.Join(root, "Dockerfile"), "--tag", r.image(), r.Programs)
	buildah("push", r.image(), fmt.Sprintf("docker-archive:%s:%s", r.archive, r.image()))
	return r
}

func (r *Release) image() string { return Repository + ":" + r.Version }

// Import gives the image to the node, as nobody pulls it.
func (r *Release) Import(node *stack.Containerd) {
	ginkgo.GinkgoHelper()
	process.Output(exec.Command("ctr", "--address", node.Socket, "--namespace", "k8s.io", "images", "import", r.archive))
}

// Enrichctl runs the release's own enrichctl on the node, outside of any container, and returns its output.
func (r *Release) Enrichctl(args ...string) (string, error) {
	return process.TryOutput(exec.Command(filepath.Join(r.Programs, "enrichctl"), args...))
}

// Plugin is the release's plugin.
func (r *Release) Plugin() []byte {
	ginkgo.GinkgoHelper()
	content, err := os.ReadFile(filepath.Join(r.Programs, "result-enricher"))
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return content
}
