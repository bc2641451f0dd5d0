// SPDX-License-Identifier: Apache-2.0

// Package binaries builds the programs that the scenarios run: the plugin under test from the main module, and the
// reference plugins, cnitool and the project's own upstream plugin at the versions of this module's go.mod. It needs the
// go command, and the module proxy when the module cache is cold.
package binaries

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The packages that the scenarios use. The binary has the last element's name.
const (
	CalicoShaped = "github.com/result-enricher/result-enricher/e2e/upstream/calico-shaped"
	Cnitool      = "github.com/containernetworking/cni/cnitool"
	Bandwidth    = "github.com/containernetworking/plugins/plugins/meta/bandwidth"
	Bridge       = "github.com/containernetworking/plugins/plugins/main/bridge"
	Demo         = "github.com/result-enricher/result-enricher/e2e/demo"
	HostLocal    = "github.com/containernetworking/plugins/plugins/ipam/host-local"
	Macvlan      = "github.com/containernetworking/plugins/plugins/main/macvlan"
	Portmap      = "github.com/containernetworking/plugins/plugins/meta/portmap"
	PTP          = "github.com/containernetworking/plugins/plugins/main/ptp"
	Tuning       = "github.com/containernetworking/plugins/plugins/meta/tuning"
)

// mainModule holds the plugin under test, which is built there so that the versions of its own go.mod count.
const mainModule = "github.com/result-enricher/result-enricher"

// Build puts static binaries of packages into dir.
func Build(dir string, packages ...string) error {
	return goBuild("", append([]string{"-o", dir + string(filepath.Separator)}, packages...)...)
}

// BuildPlugin puts the plugin under test into dir.
func BuildPlugin(dir string) error {
	root, err := output("", "list", "-m", "-f", "{{.Dir}}", mainModule)
	if err != nil {
		return fmt.Errorf("find the main module: %w", err)
	}
	return goBuild(strings.TrimSpace(root), "-o", dir+string(filepath.Separator), "./plugin/result-enricher")
}

func goBuild(dir string, args ...string) error {
	if _, err := output(dir, append([]string{"build", "-trimpath"}, args...)...); err != nil {
		return fmt.Errorf("build for the scenarios: %w", err)
	}
	return nil
}

func output(dir string, args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("run go %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String(), nil
}
