// SPDX-License-Identifier: Apache-2.0

package diff_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/enrichctl/internal/diff"
)

var _ = DescribeTable("Unified",
	func(before, after, want string) {
		Expect(diff.Unified("f", []byte(before), []byte(after))).To(Equal(want))
	},
	Entry("of equal texts is empty", "a\n", "a\n", ""),
	Entry("of an added line", "a\nb\n", "a\nx\nb\n", "--- f\n+++ f\n@@ -1,2 +1,3 @@\n a\n+x\n b\n"),
	Entry("of a removed line", "a\nx\nb\n", "a\nb\n", "--- f\n+++ f\n@@ -1,3 +1,2 @@\n a\n-x\n b\n"),
	Entry("of a changed line", "a\nx\nb\n", "a\ny\nb\n", "--- f\n+++ f\n@@ -1,3 +1,3 @@\n a\n-x\n+y\n b\n"),
	Entry("of a text that was empty", "", "a\n", "--- f\n+++ f\n@@ -0,0 +1,1 @@\n+a\n"),
	Entry("of a text without a newline at its end", `{"a":1}`, `{"a":2}`,
		"--- f\n+++ f\n@@ -1,1 +1,1 @@\n-{\"a\":1}\n\\ No newline at end of file\n+{\"a\":2}\n\\ No newline at end of file\n"),
	Entry("keeps carriage returns", "a\r\n", "b\r\n", "--- f\n+++ f\n@@ -1,1 +1,1 @@\n-a\r\n+b\r\n"),
	Entry("has three lines around a change", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n",
		"--- f\n+++ f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n"),
	Entry("joins changes that are near", "1\n2\n3\n4\n5\n6\n7\n", "x\n2\n3\n4\n5\n6\ny\n",
		"--- f\n+++ f\n@@ -1,7 +1,7 @@\n-1\n+x\n 2\n 3\n 4\n 5\n 6\n-7\n+y\n"),
	Entry("parts changes that are far", "1\n"+strings.Repeat("-\n", 9)+"2\n", "x\n"+strings.Repeat("-\n", 9)+"y\n",
		"--- f\n+++ f\n@@ -1,4 +1,4 @@\n-1\n+x\n -\n -\n -\n@@ -8,4 +8,4 @@\n -\n -\n -\n-2\n+y\n"),
)
