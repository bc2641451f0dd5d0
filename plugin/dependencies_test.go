// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"os/exec"
	"slices"
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
			"github.com/result-enricher/result-enricher/plugin/early/lean",
			"github.com/result-enricher/result-enricher/plugin/result-enricher",
			"github.com/vishvananda/netlink/nl",
			"github.com/vishvananda/netns",
			"golang.org/x/sys/unix",
		))
	})

	It("initializes first what has to come first", func() {
		a := start(map[string]string{"CNI_COMMAND": "VERSION", "GODEBUG": "inittrace=1"}, "")
		Expect(a.code).To(Equal(0))
		var order []string
		for line := range strings.Lines(a.stderr) {
			if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "init" {
				order = append(order, strings.TrimPrefix(fields[1], "github.com/result-enricher/result-enricher/"))
			}
		}
		place := func(of string) int {
			GinkgoHelper()
			Expect(order).To(ContainElement(of))
			return slices.Index(order, of)
		}
		Expect(place("plugin/early/lean")).To(BeNumerically("<", place("internal/godebug")))
		Expect(place("plugin/early")).To(BeNumerically("<", place("os")), "os is needed by all that could go wrong")
	})

	It("has no package of the standard library that costs its start dear", func() {
		out, err := exec.Command("go", "list", "-deps", "./result-enricher").Output()
		Expect(err).NotTo(HaveOccurred())
		Expect(strings.Fields(string(out))).NotTo(ContainElements(Or(Equal("net/http"), Equal("regexp"), Equal("os/signal"), HavePrefix("text/template"))))
	})
})
