// SPDX-License-Identifier: Apache-2.0

package isolate

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// TestMain is Main for a test binary: it gives the code for os.Exit. Where the namespaces cannot be made it says so and
// passes, so that the rest of `go test ./...` can be used; with the variable CI set that is a failure.
//
// Fuzzing is not isolated: its workers are started with open descriptors, and its targets need no namespaces.
func TestMain(stage func(dir string) error, run func(dir string) int) int {
	if slices.ContainsFunc(os.Args, func(arg string) bool { return strings.HasPrefix(arg, "-test.fuzz") }) {
		return run("")
	}
	code, err := Main(stage, run)
	if err == nil {
		return code
	}
	fmt.Fprintln(os.Stderr, err)
	if errors.Is(err, ErrNotPermitted) && os.Getenv("CI") == "" {
		fmt.Fprintln(os.Stderr, "no spec of this package was run")
		return 0
	}
	return 1
}
