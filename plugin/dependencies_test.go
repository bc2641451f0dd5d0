// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"os/exec"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("the binary", func() {
	It("is made of these packages and the standard library's, since it starts once per pod", func() {
		out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "./result-enricher").Output()
		Expect(err).NotTo(HaveOccurred())
		Expect(strings.Fields(string(out))).To(ConsistOf(
			"github.com/containernetworking/cni/pkg/types",
			"github.com/containernetworking/cni/pkg/types/020",
			"github.com/containernetworking/cni/pkg/types/040",
			"github.com/containernetworking/cni/pkg/types/100",
			"github.com/containernetworking/cni/pkg/types/create",
			"github.com/containernetworking/cni/pkg/types/internal",
			"github.com/containernetworking/cni/pkg/version",
			"github.com/result-enricher/result-enricher/enrich",
			"github.com/result-enricher/result-enricher/enrich/sandbox",
			"github.com/result-enricher/result-enricher/plugin",
			"github.com/result-enricher/result-enricher/plugin/early",
			"github.com/result-enricher/result-enricher/plugin/result-enricher",
			"github.com/vishvananda/netlink/nl",
			"github.com/vishvananda/netns",
			"golang.org/x/sys/unix",
		))
	})

	It("has no package of the standard library that costs its start dear", func() {
		out, err := exec.Command("go", "list", "-deps", "./result-enricher").Output()
		Expect(err).NotTo(HaveOccurred())
		Expect(strings.Fields(string(out))).NotTo(ContainElements(Or(Equal("net/http"), Equal("regexp"), Equal("os/signal"), HavePrefix("text/template"))))
	})
})
