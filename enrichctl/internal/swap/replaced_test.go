// SPDX-License-Identifier: Apache-2.0

package swap_test

import (
	"os"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/enrichctl/internal/swap"
)

var _ = Describe("Replaced", func() {
	var path string
	var owner *os.File

	BeforeEach(func() {
		path = target(GinkgoT().TempDir())
		write(path, "old")
		var err error
		owner, err = os.OpenFile(path, os.O_RDWR, 0)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { owner.Close() })
	})

	It("tells what its owner still writes, once", func() {
		replaced := replace(path, appendX).Replaced
		_, isNew, err := replaced.News()
		Expect(err).NotTo(HaveOccurred())
		Expect(isNew).To(BeFalse())

		_, err = owner.WriteAt([]byte("newer"), 0)
		Expect(err).NotTo(HaveOccurred())
		content, isNew, err := replaced.News()
		Expect(err).NotTo(HaveOccurred())
		Expect(isNew).To(BeTrue())
		Expect(string(content)).To(Equal("newer"))
		_, isNew, _ = replaced.News()
		Expect(isNew).To(BeFalse())
		Expect(read(path)).To(Equal("oldx"), "the conflist is somebody else's file by now")
	})

	It("knows whether anybody has it open for writing", func() {
		replaced := replace(path, appendX).Replaced
		Expect(replaced.Writers()).To(Equal(swap.SomeWriters))
		Expect(owner.Close()).To(Succeed())
		Expect(replaced.Writers()).To(Equal(swap.NoWriters))
	})
})
