// SPDX-License-Identifier: Apache-2.0

package podns

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Leftovers names what a suite that runs isolated has left behind: links of the
// host beside lo, bound namespaces, and child processes. A suite asserts at its
// end that there is nothing.
func Leftovers() ([]string, error) {
	var left []string
	links, err := HostLinks()
	if err != nil {
		return nil, err
	}
	for _, link := range links {
		if link != "lo" {
			left = append(left, "link "+link)
		}
	}
	namespaces, err := os.ReadDir("/run/netns")
	if err != nil {
		return nil, fmt.Errorf("list namespaces: %w", err)
	}
	for _, ns := range namespaces {
		left = append(left, "namespace "+ns.Name())
	}
	threads, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		return nil, fmt.Errorf("list threads: %w", err)
	}
	for _, thread := range threads {
		// A thread that ended meanwhile has no children.
		children, err := os.ReadFile(thread)
		if err == nil && len(children) > 0 {
			left = append(left, "process "+strings.TrimSpace(string(children)))
		}
	}
	return left, nil
}
