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
IMAGE ?= localhost/result-enricher:latest
# The first of the tools that is there. There is no base image, so none of them needs a registry.
IMAGE_TOOL ?= $(firstword $(foreach tool,buildah podman docker,$(if $(shell command -v $(tool) 2>/dev/null),$(tool))))
IMAGE_ARCHIVE := bin/image.tar
PLATFORM = linux/$(or $(GOARCH),$(shell go env GOARCH))
DIST := amd64 arm64 arm ppc64le s390x riscv64
LINT := go tool -modfile=tools/go.mod golangci-lint
LINT_E2E = $(shell go tool -modfile=tools/go.mod -n golangci-lint) --config $(CURDIR)/.golangci.yml

.PHONY: help
help: ## list the commands
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/result-enricher and bin/enrichctl, static
	$(GOBUILD) -o bin/ ./plugin/result-enricher ./enrichctl

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

.PHONY: bench
bench: build ## measure whole processes beside others, and core and reader alone, into bench.txt
	cd e2e && go run ./bench -bin ../bin -out ../bench.txt
	go test ./enrich ./enrich/sandbox -run '^$$' -bench . | tee -a bench.txt

.PHONY: kills
kills: ## kill the installer a thousand times, and print its figures
	ENRICHCTL_KILLS=1000 ENRICHCTL_SAMPLES=40 ENRICHCTL_ROUNDS=200 go test -v -count=1 -timeout 30m ./enrichctl \
		-ginkgo.focus 'SIGKILL|time from a rewrite|in place while install'

# GOARCH=arm64 makes it for another machine.
.PHONY: image
image: build ## build the image IMAGE with buildah, podman or docker, and bin/image.tar to import
	rm -f $(IMAGE_ARCHIVE)
	case "$(IMAGE_TOOL)" in \
	buildah) \
		buildah bud --isolation chroot --platform $(PLATFORM) --file Dockerfile --tag $(IMAGE) bin; \
		buildah push $(IMAGE) docker-archive:$(IMAGE_ARCHIVE):$(IMAGE) ;; \
	podman) \
		podman build --platform $(PLATFORM) --file Dockerfile --tag $(IMAGE) bin; \
		podman save --format docker-archive --output $(IMAGE_ARCHIVE) $(IMAGE) ;; \
	docker) \
		docker build --platform $(PLATFORM) --file Dockerfile --tag $(IMAGE) bin; \
		docker save --output $(IMAGE_ARCHIVE) $(IMAGE) ;; \
	*) echo "install buildah, podman or docker, or name one of them with IMAGE_TOOL" >&2; exit 1 ;; \
	esac

.PHONY: dist
dist: ## cross-build both programs into dist/, one archive per architecture, with SHA256SUMS
	rm -rf dist
	for arch in $(DIST); do \
		GOOS=linux GOARCH=$$arch $(GOBUILD) -o dist/linux-$$arch/ ./plugin/result-enricher ./enrichctl; \
		cp LICENSE dist/linux-$$arch/; \
		tar --create --gzip --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner \
			--file dist/result-enricher-linux-$$arch.tar.gz --directory dist/linux-$$arch . ; \
		rm -r dist/linux-$$arch; \
	done
	cd dist && sha256sum *.tar.gz > SHA256SUMS

.PHONY: lint
lint: ## check style and the borders between the packages
	$(LINT) run ./...
	cd e2e && $(LINT_E2E) run ./...
	cd e2e/cluster && $(LINT_E2E) run ./...

# Without the bound, minimizing what is merely interesting takes most of the time.
FUZZ = go test "$$(dirname "$$file")" -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x

.PHONY: fuzz
fuzz: ## fuzz every target for FUZZTIME
	@for module in . e2e; do \
		cd $(CURDIR)/$$module; \
		grep -rlE '^func Fuzz' --include='*_test.go' . | { if [ $$module = . ]; then grep -v '^./e2e/'; else cat; fi; } | sort | while read -r file; do \
			for target in $$(sed -nE 's/^func (Fuzz[A-Za-z0-9]+)\(.*/\1/p' "$$file"); do \
				echo "== $$target in $$module/$$file"; \
				$(FUZZ); \
			done; \
		done; \
	done

.PHONY: clean
clean: ## remove what was built
	rm -rf bin dist
