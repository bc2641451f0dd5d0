# The real components of the end-to-end tests, and the tests that run on them.
# Included by the Makefile at the top; paths are relative to that.
#
# Every component is pinned in a module of its own, for their dependencies clash,
# and none of their weight shall reach the project's own modules. A module is built
# again when its go.mod or go.sum is newer than what was built from it.

E2E_BIN := $(CURDIR)/e2e/bin
E2E_INSTALL = CGO_ENABLED=0 GOBIN=$(E2E_BIN) go install -C $(<D) -trimpath -ldflags '-s -w' tool

CALICO_BINARIES := $(E2E_BIN)/calico
MULTUS_BINARIES := $(addprefix $(E2E_BIN)/,multus multus-daemon multus-shim cnitool bandwidth host-local loopback macvlan)
KUBERNETES_BINARIES := $(addprefix $(E2E_BIN)/,kube-apiserver kube-controller-manager kube-scheduler kubelet kubectl crictl)

# One recipe makes all targets of a group, so that the shared packages are compiled once.
$(CALICO_BINARIES) &: e2e/calico/go.mod e2e/calico/go.sum
	$(E2E_INSTALL)
	touch $(CALICO_BINARIES)
$(MULTUS_BINARIES) &: e2e/multus/go.mod e2e/multus/go.sum
	$(E2E_INSTALL)
	touch $(MULTUS_BINARIES)
$(KUBERNETES_BINARIES) &: e2e/kubernetes/go.mod e2e/kubernetes/go.sum
	$(E2E_INSTALL)
	touch $(KUBERNETES_BINARIES)

.PHONY: e2e-binaries
e2e-binaries: $(CALICO_BINARIES) $(MULTUS_BINARIES) $(KUBERNETES_BINARIES) ## build the components that end-to-end tests run

.PHONY: e2e-packages
e2e-packages: ## install the Debian packages that end-to-end tests run
	e2e/cluster/prepare.sh

# Never from the cache: what the tests start is not among what Go knows they depend on.
# -v, for without it Go keeps the output of what has passed to itself.
.PHONY: e2e-cluster
e2e-cluster: e2e-packages e2e-binaries ## run the plugin under real Calico, real multus and a real node
	cd e2e/cluster && go test $(RACE) -count=1 -timeout 20m -v . $(SPECS)
	PATH="$(E2E_BIN):$$PATH" go test -count=1 ./examples $(SPECS)
