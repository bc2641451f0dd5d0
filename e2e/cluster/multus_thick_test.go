// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/result-enricher/result-enricher/e2e/cluster/internal/stack"
)

var _ = Describe("the real multus, thick", Ordered, func() {
	multusSpecs("thick", stack.StartThickMultus)
})
