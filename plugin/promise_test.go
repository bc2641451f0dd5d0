// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"encoding/json"
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/enrich"
	"github.com/result-enricher/result-enricher/enrich/sandbox"
)

var _ = Describe("a panic inside the plugin", func() {
	const prev = `{"cniVersion":"1.0.0", "odd":[1] }`
	var log bytes.Buffer

	panicking := func(policy FailurePolicy) *call {
		log.Reset()
		return &call{
			Call:   enrich.Call{CNIVersion: "1.0.0"},
			config: Config{FailurePolicy: policy},
			prev:   json.RawMessage(prev),
			log:    newLogger(&log, Config{}),
		}
	}
	panics := func() ([]byte, error) {
		var entry *struct{ name string }
		return []byte(entry.name), nil
	}

	It("hands prevResult on under ignore, with the stack in the log", func() {
		document, err := panicking(PolicyIgnore).promise(panics)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(document)).To(Equal(prev))
		Expect(log.String()).To(And(ContainSubstring("nil pointer"), ContainSubstring("promise_test.go")))
	})

	It("is code 999 under fail", func() {
		document, err := panicking(PolicyFail).promise(panics)
		Expect(document).To(BeNil())
		Expect(cniError(err).Code).To(BeEquivalentTo(999))
		Expect(log.String()).To(ContainSubstring("promise_test.go"))
	})
})

var _ = DescribeTable("every cause has its CNI code",
	func(cause error, code int) {
		e := cniError(errors.Join(errors.New("context"), cause))
		Expect(e.Code).To(BeEquivalentTo(code))
		Expect(e.Details).To(ContainSubstring("context"))
	},
	Entry("", errVersion, 1), Entry("", errEnvironment, 4), Entry("", errDecoding, 6), Entry("", errConfig, 7),
	Entry("", errOwnNamespace, 8), Entry("", sandbox.ErrNoNamespace, 8), Entry("", sandbox.ErrNotNamespace, 8),
	Entry("", sandbox.ErrNotPermitted, 8), Entry("", sandbox.ErrInterrupted, 11), Entry("", enrich.ErrIncomplete, 11),
	Entry("", sandbox.ErrNoLink, 100), Entry("", enrich.ErrLinkMissing, 100), Entry("", errMACDiffers, 101),
	Entry("", errPanic, 999), Entry("", errors.New("anything else"), 999),
)
