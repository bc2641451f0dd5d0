// SPDX-License-Identifier: Apache-2.0

package enrich_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

func TestEnrich(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "enrich")
}
