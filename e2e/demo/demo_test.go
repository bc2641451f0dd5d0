// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"unicode/utf8"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("the program", func() {
	run := func(plugin string) (string, int) {
		GinkgoHelper()
		temp := GinkgoT().TempDir()
		cmd := exec.Command(bin("demo"), "-plugin", plugin)
		cmd.Env = append(os.Environ(), "TMPDIR="+temp)
		out, err := cmd.CombinedOutput()
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) {
			Expect(err).NotTo(HaveOccurred())
		}
		left, err := os.ReadDir(temp)
		Expect(err).NotTo(HaveOccurred())
		Expect(left).To(BeEmpty(), "the demo left files behind")
		return string(out), cmd.ProcessState.ExitCode()
	}

	It("shows what the plugin repairs, for 80 columns and without escape sequences", func() {
		out, code := run(bin("result-enricher"))
		Expect(code).To(Equal(0), out)
		Expect(out).To(And(
			MatchRegexp(`(?m)^  \+  +"interface": "eth0",$`),
			MatchRegexp(`(?m)^    R6  interfaces\[1\]: `),
			MatchRegexp(`(?m)^    yes  with it the Result's MAC of eth0 is the kernel's, ([0-9a-f]{2}:){5}[0-9a-f]{2}$`),
			Not(ContainSubstring("\x1b")),
			Not(ContainSubstring("    NO")),
		))
		for _, line := range strings.Split(out, "\n") {
			Expect(utf8.RuneCountInString(line)).To(BeNumerically("<=", columns), line)
		}
	})

	It("fails when the Result is not repaired", func() {
		idle := GinkgoT().TempDir() + "/result-enricher"
		Expect(os.Symlink(bin("portmap"), idle)).To(Succeed())
		out, code := run(idle)
		Expect(code).To(Equal(1), out)
		Expect(out).To(And(
			ContainSubstring("NO   with it the Result's MAC of eth0 is the kernel's"),
			ContainSubstring("yes  no interface is left on the host"),
		))
	})

	It("names a plugin that does not exist", func() {
		out, code := run("/nonexistent/result-enricher")
		Expect(code).To(Equal(1), out)
		Expect(out).To(ContainSubstring("/nonexistent/result-enricher"))
	})
})

var _ = Describe("the screen", func() {
	It("uses colour only on a terminal", func() {
		file, err := os.Create(GinkgoT().TempDir() + "/out")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(file.Close)
		Expect(newScreen(file, func(string) string { return "" }).colour).To(BeFalse())
	})

	DescribeTable("respects the environment", func(name, value string, want bool) {
		terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(terminal.Close)
		s := newScreen(terminal, func(key string) string {
			if key == name {
				return value
			}
			return ""
		})
		Expect(s.colour).To(Equal(want))
	},
		Entry(nil, "TERM", "xterm", true),
		Entry(nil, "TERM", "dumb", false),
		Entry(nil, "NO_COLOR", "1", false),
	)
})
