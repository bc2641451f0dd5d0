// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/e2e/cluster/internal/process"
)

// token is everybody's: what the components may do is not what is tested.
const token = "e2e-token"

// APIServer is a running kube-apiserver.
type APIServer struct {
	// Port is its TLS port on 127.0.0.1.
	Port int
	// Kubeconfig is the path of one that may do everything.
	Kubeconfig string

	// caFile has the certificate that the server made for itself.
	caFile            string
	serviceAccountKey string
	home              string
}

// StartAPIServer starts a kube-apiserver that stores into etcd.
func StartAPIServer(etcd *Etcd) *APIServer {
	ginkgo.GinkgoHelper()
	dir := tempDir("apiserver")
	a := &APIServer{
		Port:              freePort(),
		Kubeconfig:        filepath.Join(dir, "kubeconfig"),
		caFile:            filepath.Join(dir, "certs", "apiserver.crt"),
		serviceAccountKey: filepath.Join(dir, "service-account.key"),
		home:              dir,
	}
	writeServiceAccountKey(a.serviceAccountKey)
	tokens := filepath.Join(dir, "tokens.csv")
	writeFile(tokens, []byte(token+",admin,admin,system:masters\n"))
	writeFile(a.Kubeconfig, marshal(object{
		"kind": "Config", "apiVersion": "v1", "current-context": "e2e",
		"contexts": []object{{"name": "e2e", "context": object{"cluster": "e2e", "user": "admin"}}},
		"clusters": []object{{"name": "e2e", "cluster": object{
			"server": a.url(), "certificate-authority": a.caFile,
		}}},
		"users": []object{{"name": "admin", "user": object{"token": token}}},
	}))
	process.Start(exec.Command(binary("kube-apiserver"),
		"--etcd-servers", etcd.URL,
		"--bind-address", "127.0.0.1",
		"--secure-port", fmt.Sprint(a.Port),
		"--cert-dir", filepath.Dir(a.caFile),
		"--token-auth-file", tokens,
		"--authorization-mode", "AlwaysAllow",
		"--service-account-issuer", "https://kubernetes.default.svc",
		"--service-account-key-file", a.serviceAccountKey,
		"--service-account-signing-key-file", a.serviceAccountKey,
		"--service-cluster-ip-range", "10.96.0.0/16",
		// Pods are made before any controller has made them a service account.
		"--disable-admission-plugins", "ServiceAccount",
		// The endpoints of the kubernetes service may not be loopback addresses, and nobody asks for them.
		"--endpoint-reconciler-type", "none",
	), a.ready)
	return a
}

func (a *APIServer) url() string { return fmt.Sprintf("https://127.0.0.1:%d", a.Port) }

// ready asks for all of the server's own checks, and for the namespace that it makes a little later.
func (a *APIServer) ready() error {
	certificate, err := os.ReadFile(a.caFile)
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(certificate)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Timeout: 5 * time.Second, Transport: bearer{transport}}
	if err := answers(client, a.url()+"/readyz")(); err != nil {
		return err
	}
	return answers(client, a.url()+"/api/v1/namespaces/default")()
}

// bearer adds the token to every request.
type bearer struct{ next http.RoundTripper }

func (b bearer) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("Authorization", "Bearer "+token)
	return b.next.RoundTrip(request)
}

// Kubectl runs kubectl and returns what it printed.
func (a *APIServer) Kubectl(args ...string) (string, error) {
	return process.TryOutput(a.kubectl(args...))
}

func (a *APIServer) kubectl(args ...string) *exec.Cmd {
	cmd := exec.Command(binary("kubectl"), append([]string{
		"--kubeconfig", a.Kubeconfig, "--cache-dir", filepath.Join(a.home, "kubectl-cache"),
	}, args...)...)
	// No settings of the person who runs the tests.
	cmd.Env = append(os.Environ(), "HOME="+a.home, "KUBECONFIG=", "KUBERC=off")
	return cmd
}

func writeServiceAccountKey(path string) {
	ginkgo.GinkgoHelper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	writeFile(path, pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
}
