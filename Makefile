# The commands of the project; `make help` lists them. Everything is built from
# pinned modules; nothing is installed on the machine.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X main.version=$(VERSION)
GOBUILD := CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)'
# The race detector needs a C compiler.
RACE := $(if $(shell command -v "$${CC:-gcc}" 2>/dev/null),-race)
SPECS := -ginkgo.randomize-all
FUZZTIME ?= 1m
LINT := go tool -modfile=tools/go.mod golangci-lint
LINT_E2E = $(shell go tool -modfile=tools/go.mod -n golangci-lint) --config $(CURDIR)/.golangci.yml

.PHONY: help
help: ## list the commands
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/result-enricher, static
	$(GOBUILD) -o bin/ ./plugin/result-enricher

.PHONY: demo
demo: build ## show a Result before and after, from a real chain in namespaces of its own
	cd e2e && CGO_ENABLED=0 go run ./demo -plugin ../bin/result-enricher

.PHONY: test
test: packages ## run everything that needs no cluster
	go test $(RACE) ./... $(SPECS)
	cd e2e && go test $(RACE) -count=1 ./... $(SPECS)

# The reference plugin portmap runs nft. Without it its chains are left out, and
# fail when CI is set.
.PHONY: packages
packages:
	@command -v nft >/dev/null || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || \
		DEBIAN_FRONTEND=noninteractive apt-get install -yq --no-install-recommends nftables || \
		{ apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -yq --no-install-recommends nftables; } || \
		echo "nft cannot be installed; chains with portmap are left out"

include e2e/cluster.mk

.PHONY: e2e
e2e: e2e-cluster ## run the plugin under the real Calico, the real multus and a real node

.PHONY: lint
lint: ## check style and the borders between the packages
	$(LINT) run ./...
	cd e2e && $(LINT_E2E) run ./...
	cd e2e/cluster && go vet ./...

.PHONY: fuzz
fuzz: ## fuzz every target for FUZZTIME
	@go list -f '{{$$d := .Dir}}{{range .TestGoFiles}}{{$$d}}/{{.}} {{end}}{{range .XTestGoFiles}}{{$$d}}/{{.}} {{end}}' ./... \
		| xargs grep -lE '^func Fuzz' | while read -r file; do \
		for target in $$(sed -nE 's/^func (Fuzz[A-Za-z0-9]+)\(.*/\1/p' "$$file"); do \
			echo "== $$target in $${file#$(CURDIR)/}"; \
			go test "$$(dirname "$$file")" -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME); \
		done; \
	done

.PHONY: clean
clean: ## remove what was built
	rm -rf bin
