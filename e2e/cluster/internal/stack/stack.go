// SPDX-License-Identifier: Apache-2.0

// Package stack starts the real components of a small Kubernetes cluster, one
// file per component, and writes the configurations that tie them together.
//
// It may only be used on a private machine (package machine): components get
// free ports of its loopback, and keep the paths they hard-code. Every function fails the running
// spec rather than return an error, and has what it started cleaned up at the end
// of the Ginkgo node that called it.
package stack

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/e2e/cluster/internal/process"
)

// object is a JSON object that is easier to write than to declare.
type object = map[string]any

// binary returns the path of a program that the nested modules build.
func binary(name string) string {
	ginkgo.GinkgoHelper()
	path, err := filepath.Abs(filepath.Join("..", "bin", name))
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	gomega.Expect(path).To(gomega.BeAnExistingFile(), "build it first: make e2e-binaries")
	return path
}

// freePort returns a TCP port that nothing listens on.
func freePort() int {
	ginkgo.GinkgoHelper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

func writeFile(path string, content []byte) {
	ginkgo.GinkgoHelper()
	gomega.Expect(os.MkdirAll(filepath.Dir(path), 0o755)).To(gomega.Succeed())
	gomega.Expect(os.WriteFile(path, content, 0o600)).To(gomega.Succeed())
}

func marshal(value any) []byte {
	ginkgo.GinkgoHelper()
	content, err := json.MarshalIndent(value, "", "  ")
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return content
}

// printOnFailure shows the end of a log that no component's output is in.
func printOnFailure(file string) {
	ginkgo.DeferCleanup(func() {
		if ginkgo.CurrentSpecReport().Failed() {
			process.PrintLog(file)
		}
	})
}

// answers returns a readiness check: a GET of the URL is answered with 200.
func answers(client *http.Client, url string) func() error {
	return func() error {
		response, err := client.Get(url)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("GET %s: %s", url, response.Status)
		}
		return nil
	}
}

var (
	plainHTTP = &http.Client{Timeout: 5 * time.Second}
	// selfSignedHTTPS is for components that make a certificate nobody needs to trust: on the loopback
	// of a private machine there is nobody else to answer.
	selfSignedHTTPS = &http.Client{
		Timeout:   5 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
	}
)

// readyNodeWithin is how long a node may take to become ready after its kubelet is.
const readyNodeWithin = 2 * time.Minute
