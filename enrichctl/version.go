// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newVersion(a *app) *cobra.Command {
	output := newOutput("text", "json")
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  enrichctl version -o json",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			if output.text == "json" {
				return a.printJSON(map[string]string{"version": version})
			}
			_, err := fmt.Fprintln(a.stdout, "enrichctl", version)
			return err
		},
	}
	cmd.Flags().VarP(output, "output", "o", "text or json")
	return cmd
}
