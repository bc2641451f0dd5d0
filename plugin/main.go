// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/containernetworking/cni/pkg/version"

	"github.com/result-enricher/result-enricher/enrich/sandbox"
)

// Name is the CNI type of the plugin and the name of its binary.
const Name = "result-enricher"

// readTime bounds all reading of the sandbox. Reading takes well below a
// millisecond; runtimes wait for minutes.
const readTime = 2 * time.Second

// Process is what one invocation is given.
type Process struct {
	// Getenv is os.Getenv.
	Getenv func(string) string
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	// Open is sandbox.Open, or sandbox.OpenInInit where that is right.
	Open func(ctx context.Context, path string) (*sandbox.Sandbox, error)
	// Version of the build, for a person.
	Version string
}

// Main runs the command of CNI_COMMAND and returns the exit code. Stdout gets
// one JSON document, the Result or the CNI error, in a single write, or nothing.
func Main(p Process) int {
	command := p.Getenv("CNI_COMMAND")
	switch command {
	case "DEL", "GC", "STATUS":
		// Nothing was made, so nothing is to be undone. Whatever the input is, an
		// error would stop the teardown of the plugins before this one, or make
		// the node NotReady.
		return 0
	case "":
		fmt.Fprintf(p.Stderr, "CNI plugin %s %s\nCNI protocol versions supported: %s\n",
			Name, p.Version, strings.Join(version.All.SupportedVersions(), ", "))
		return 0
	}
	document, err := p.run(command)
	code := 0
	if err != nil {
		code = 1
		// The library's Error always encodes.
		document, _ = json.MarshalIndent(cniError(err), "", "    ")
	}
	if _, err := p.Stdout.Write(document); err != nil {
		fmt.Fprintf(p.Stderr, "%s: write to stdout: %v\n", Name, err)
		return 1
	}
	return code
}

func (p Process) run(command string) ([]byte, error) {
	switch command {
	case "ADD", "CHECK":
		c, err := p.call()
		if err != nil {
			return nil, err
		}
		if command == "ADD" {
			return c.add()
		}
		return nil, c.check()
	case "VERSION":
		var out bytes.Buffer
		if err := version.All.Encode(&out); err != nil {
			return nil, fmt.Errorf("encode versions: %w", err)
		}
		return out.Bytes(), nil
	default:
		return nil, fmt.Errorf("%w: CNI_COMMAND %q is none that CNI knows", errEnvironment, command)
	}
}

// environment reads the variables of ADD and CHECK. CNI_PATH, which the
// specification calls optional, is not needed: nothing is delegated.
func (p Process) environment() (containerID, netns, ifName string, err error) {
	containerID, netns, ifName = p.Getenv("CNI_CONTAINERID"), p.Getenv("CNI_NETNS"), p.Getenv("CNI_IFNAME")
	var missing []string
	for _, v := range []struct{ name, value string }{
		{"CNI_CONTAINERID", containerID}, {"CNI_NETNS", netns}, {"CNI_IFNAME", ifName},
	} {
		if v.value == "" {
			missing = append(missing, v.name)
		}
	}
	if len(missing) > 0 {
		return "", "", "", fmt.Errorf("%w: %s not set", errEnvironment, strings.Join(missing, ", "))
	}
	if !validContainerID(containerID) {
		return "", "", "", fmt.Errorf("%w: CNI_CONTAINERID %q must be letters, digits, _ . - and start with a letter or digit", errEnvironment, containerID)
	}
	if !sandbox.PossibleName(ifName) {
		return "", "", "", fmt.Errorf("%w: CNI_IFNAME %q is no name of an interface", errEnvironment, ifName)
	}
	return containerID, netns, ifName, nil
}

// validContainerID is the specification's rule (section 2, "Parameters"). The
// library checks it with a regular expression, which every start would compile.
func validContainerID(id string) bool {
	for i, r := range id {
		alphanumeric := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !alphanumeric && (i == 0 || r != '_' && r != '.' && r != '-') {
			return false
		}
	}
	return id != ""
}
