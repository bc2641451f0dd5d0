// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"bytes"
	"encoding/json"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// show puts a network-status annotation, on one line, into the report of the spec and onto the
// last lines of the suite's output.
func show(scenario, when, status string) {
	GinkgoHelper()
	var line bytes.Buffer
	if status == "" {
		line.WriteString("none")
	} else {
		Expect(json.Compact(&line, []byte(status))).To(Succeed())
	}
	AddReportEntry("network-status", fmt.Sprintf("%-28s %-12s %s", scenario, when, line.String()), ReportEntryVisibilityNever)
	GinkgoWriter.Println("network-status", when, line.String())
}

var _ = ReportAfterSuite("network-status", func(report Report) {
	fmt.Println("\nnetwork-status, as multus wrote it:")
	for _, spec := range report.SpecReports {
		for _, entry := range spec.ReportEntries {
			if entry.Name == "network-status" {
				fmt.Println(entry.StringRepresentation())
			}
		}
	}
})
