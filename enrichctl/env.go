// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// variable gives the environment variable of a flag.
func variable(flag string) string {
	return "ENRICHCTL_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// readEnvironment sets the flags that were not given from their variables. An empty variable
// counts as none, as manifests often have them. The error is a usage error that names the variable.
func readEnvironment(flags *pflag.FlagSet, getenv func(string) string) error {
	var failed error
	flags.VisitAll(func(flag *pflag.Flag) {
		name := variable(flag.Name)
		text := getenv(name)
		if flag.Changed || flag.Name == "help" || text == "" || failed != nil {
			return
		}
		values := []string{text}
		if _, isList := flag.Value.(*pathsValue); isList {
			values = strings.Split(text, ":")
		}
		for _, value := range values {
			// Not flags.Set, whose error speaks of a flag that nobody gave.
			if err := flag.Value.Set(value); err != nil {
				failed = usageError{fmt.Errorf("environment variable %s=%q: %w", name, text, err)}
				return
			}
		}
		flag.Changed = true
	})
	return failed
}
