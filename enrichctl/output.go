// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
)

// printJSON writes one document to stdout. Texts keep < and >: it is not for a web page.
func (a *app) printJSON(value any) error {
	encoder := json.NewEncoder(a.stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

func (a *app) println(text string) error {
	if _, err := fmt.Fprintln(a.stdout, text); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}
