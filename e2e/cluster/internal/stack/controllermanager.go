// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"fmt"
	"os/exec"

	"github.com/onsi/ginkgo/v2"

	"github.com/result-enricher/result-enricher/e2e/cluster/internal/process"
)

// StartControllerManager starts a kube-controller-manager, which makes pods of Deployments
// and removes the taints of nodes that are ready.
func StartControllerManager(api *APIServer) {
	ginkgo.GinkgoHelper()
	port := freePort()
	process.Start(exec.Command(binary("kube-controller-manager"),
		"--kubeconfig", api.Kubeconfig,
		"--bind-address", "127.0.0.1",
		"--secure-port", fmt.Sprint(port),
		"--cert-dir", tempDir("controller-manager"),
		"--leader-elect=false",
		// Calico gives out addresses, and there is no cloud.
		"--controllers", "*,-nodeipam,-cloud-node-lifecycle",
		"--service-account-private-key-file", api.serviceAccountKey,
		// The default of 20 requests a second is made for clusters with other users.
		"--kube-api-qps", "200", "--kube-api-burst", "400",
	), answers(selfSignedHTTPS, fmt.Sprintf("https://127.0.0.1:%d/healthz", port)))
}
