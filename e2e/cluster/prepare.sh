#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs the Debian packages that the cluster tests run, and does nothing when
# their programs are there. Starts none of the services that come with them.
set -euo pipefail

declare -A packages=(
    [etcd]=etcd-server
    [containerd]=containerd
    [ctr]=containerd
    [containerd-shim-runc-v2]=containerd
    [runc]=runc
    [buildah]=buildah
)

missing=()
for program in "${!packages[@]}"; do
    command -v "$program" >/dev/null || missing+=("${packages[$program]}")
done
if [ ${#missing[@]} -eq 0 ]; then
    exit 0
fi
if [ "$(id -u)" -ne 0 ]; then
    echo "install as root: apt-get install ${missing[*]}" >&2
    exit 1
fi

# This is how Debian is told not to start services; a machine's own rule is left alone.
rule=/usr/sbin/policy-rc.d
if [ ! -e "$rule" ]; then
    trap 'rm -f "$rule"' EXIT
    printf '#!/bin/sh\nexit 101\n' >"$rule"
    chmod +x "$rule"
fi

export DEBIAN_FRONTEND=noninteractive
install=(apt-get install --yes --no-install-recommends "${missing[@]}")
# The machine's lists of packages may be missing or out of date.
"${install[@]}" || { apt-get update && "${install[@]}"; }
