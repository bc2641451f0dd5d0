// SPDX-License-Identifier: Apache-2.0

package conflist_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/enrichctl/internal/conflist"
)

// No edit of this package is known to go wrong, so the check that runs after each is given wrong ones here.
var _ = Describe("the check after an edit", func() {
	const before = `{"name":"n","cniVersion":"0.3.1","n":18446744073709551616,"plugins":[{"type":"a","mtu":1e3},{"type":"b"}]}`

	DescribeTable("holds the result against the original",
		func(after string, good bool) {
			err := conflist.CheckEnsured([]byte(before), []byte(after))
			if good {
				Expect(err).NotTo(HaveOccurred())
				return
			}
			Expect(code(err)).To(Equal(conflist.CodeCheckFailed))
		},
		Entry("right", `{"name":"n","cniVersion":"0.3.1","n":18446744073709551616,"plugins":[{"type":"a","mtu":1e3},{"type":"b"},{"type":"result-enricher"}]}`, true),
		Entry("no JSON", `{"name":"n","cniVersion":"0.3.1"`, false),
		Entry("unchanged", before, false),
		Entry("twice", `{"name":"n","cniVersion":"0.3.1","n":18446744073709551616,"plugins":[{"type":"a","mtu":1e3},{"type":"b"},{"type":"result-enricher"},{"type":"result-enricher"}]}`, false),
		Entry("in front", `{"name":"n","cniVersion":"0.3.1","n":18446744073709551616,"plugins":[{"type":"result-enricher"},{"type":"a","mtu":1e3},{"type":"b"}]}`, false),
		Entry("other settings", `{"name":"n","cniVersion":"0.3.1","n":18446744073709551616,"plugins":[{"type":"a","mtu":1e3},{"type":"b"},{"type":"result-enricher","x":1}]}`, false),
		Entry("another plugin gone", `{"name":"n","cniVersion":"0.3.1","n":18446744073709551616,"plugins":[{"type":"a","mtu":1e3},{"type":"result-enricher"}]}`, false),
		Entry("the others in another order", `{"name":"n","cniVersion":"0.3.1","n":18446744073709551616,"plugins":[{"type":"b"},{"type":"a","mtu":1e3},{"type":"result-enricher"}]}`, false),
		Entry("a number rounded", `{"name":"n","cniVersion":"0.3.1","n":18446744073709552000,"plugins":[{"type":"a","mtu":1e3},{"type":"b"},{"type":"result-enricher"}]}`, false),
		Entry("a number respelled", `{"name":"n","cniVersion":"0.3.1","n":18446744073709551616,"plugins":[{"type":"a","mtu":1000},{"type":"b"},{"type":"result-enricher"}]}`, false),
		Entry("a key more", `{"name":"n","cniVersion":"0.3.1","x":1,"n":18446744073709551616,"plugins":[{"type":"a","mtu":1e3},{"type":"b"},{"type":"result-enricher"}]}`, false),
	)
})
