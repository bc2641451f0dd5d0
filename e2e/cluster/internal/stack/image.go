// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/onsi/ginkgo/v2"

	"github.com/result-enricher/result-enricher/e2e/cluster/internal/machine"
	"github.com/result-enricher/result-enricher/e2e/cluster/internal/process"
)

// Image is the only image of the cluster: for pods and for their sandboxes.
const Image = "localhost/pause:e2e"

const containerfile = `FROM scratch
COPY pause /pause
ENTRYPOINT ["/pause"]
`

// buildImage makes the image, from a static program and nothing else, and
// returns the path of an archive of it.
func buildImage() string {
	ginkgo.GinkgoHelper()
	dir := tempDir("image")
	file, archive := filepath.Join(dir, "Containerfile"), filepath.Join(dir, "image.tar")
	writeFile(file, []byte(containerfile))
	buildah := Buildah(dir)
	// There is no RUN to isolate.
	buildah("bud", "--isolation", "chroot", "--file", file, "--tag", Image, machine.Dir())
	buildah("push", Image, "docker-archive:"+archive+":"+Image)
	return archive
}

// Buildah gives a function that runs buildah with all its files below dir.
func Buildah(dir string) func(command string, args ...string) {
	ginkgo.GinkgoHelper()
	policy, config := filepath.Join(dir, "policy.json"), filepath.Join(dir, "containers.conf")
	writeFile(policy, marshal(object{"default": []object{{"type": "insecureAcceptAnything"}}}))
	// Else it makes a lock file in the machine's CNI directory, for networks of its own.
	writeFile(config, fmt.Appendf(nil, "[network]\nnetwork_config_dir = %q\n", filepath.Join(dir, "networks")))
	return func(command string, args ...string) {
		ginkgo.GinkgoHelper()
		cmd := exec.Command("buildah", append([]string{
			"--root", filepath.Join(dir, "storage"), "--runroot", filepath.Join(dir, "run"), "--storage-driver", "vfs",
			command, "--signature-policy", policy,
		}, args...)...)
		cmd.Env = append(os.Environ(), "CONTAINERS_CONF="+config)
		process.Output(cmd)
	}
}
