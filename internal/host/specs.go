// SPDX-License-Identifier: Apache-2.0

package host

import (
	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
)

// Watch makes a suite look around before it begins, then call more, and assert at
// its end that nothing was left behind. For a package-level variable: a suite
// has one BeforeSuite and one AfterSuite.
func Watch(more ...func()) bool {
	var survey Survey
	ginkgo.BeforeSuite(func() {
		var err error
		survey, err = Begin()
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
		for _, f := range more {
			f()
		}
	})
	return ginkgo.AfterSuite(func() {
		ginkgo.By("looking for links, namespaces, state files and processes that were left behind")
		gomega.Expect(survey.Leftovers()).To(gomega.BeEmpty())
	})
}
