// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"fmt"
	"os/exec"

	"github.com/onsi/ginkgo/v2"

	"github.com/result-enricher/result-enricher/e2e/cluster/internal/process"
)

// StartScheduler starts a kube-scheduler.
func StartScheduler(api *APIServer) {
	ginkgo.GinkgoHelper()
	port := freePort()
	process.Start(exec.Command(binary("kube-scheduler"),
		"--kubeconfig", api.Kubeconfig,
		"--bind-address", "127.0.0.1",
		"--secure-port", fmt.Sprint(port),
		"--cert-dir", tempDir("scheduler"),
		"--leader-elect=false",
	), answers(selfSignedHTTPS, fmt.Sprintf("https://127.0.0.1:%d/healthz", port)))
}
