// SPDX-License-Identifier: Apache-2.0

// Package explanation tells what result-enricher makes of a Result, and what the
// consumers make of it before and after.
//
// It reads the sandbox through package sandbox and changes nothing. The answer is
// the plugin's own, run in this process; the repairs are the rules' (package
// enrich), and the consumers' views are predictions (package consumer).
package explanation
