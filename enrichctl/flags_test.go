// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"encoding/json"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("flags and variables", func() {
	var l *lab
	BeforeEach(func() {
		l = newLab()
		l.has("10-calico.conflist", calico)
	})

	DescribeTable("a mistake in the call is exit code 2, said on stderr, and changes nothing",
		func(said string, args ...string) {
			s := l.runs(2, args...)
			Expect(stderr(s)).To(ContainSubstring(said))
			Expect(stdout(s)).To(BeEmpty())
			Expect(read(l.list())).To(Equal(calico))
		},
		Entry("no command", "name a command"),
		Entry("an unknown command", "bogus", "bogus"),
		Entry("an unknown flag", "--bogus", "install", "--bogus"),
		Entry("an argument too many", "now", "install", "now"),
		Entry("a bad level", "--log-level", "status", "--log-level", "loud"),
		Entry("a bad output", "text or json", "status", "-o", "yaml"),
		Entry("a bad duration", "--timeout", "install", "--timeout", "soon"),
		Entry("an empty path", "--cni-conf-dir", "install", "--cni-conf-dir", ""),
		Entry("--timeout with --watch", "--timeout", "install", "--timeout", "1s", "--watch"),
		Entry("--dry-run with --watch", "--dry-run", "install", "--dry-run", "--watch"),
		Entry("metrics without --watch", "--metrics-address needs --watch", "install", "--metrics-address", ":0"),
		Entry("a bad port", "70000", "install", "--watch", "--metrics-address", ":70000"),
		Entry("--force alone", "--purge", "uninstall", "--force"),
		Entry("--purge with --watch", "--purge", "uninstall", "--purge", "--watch"),
		Entry("a configuration that is no object", "plugin configuration", "install", "--plugin-config", "[]"),
		Entry("a bad value in it", `logLevel must be`, "install", "--plugin-config", `{"logLevel":"loud"}`),
		Entry("type in it", "type", "install", "--plugin-config", `{"type":"x"}`),
		Entry("name in it", "name", "install", "--plugin-config", `{"name":"x"}`),
		Entry("cniVersion in it", "cniVersion", "install", "--plugin-config", `{"cniVersion":"1.0.0"}`),
		Entry("prevResult in it", "prevResult", "install", "--plugin-config", `{"prevResult":{}}`),
		Entry("a flag of another command", "--purge", "status", "--purge"),
	)

	DescribeTable("a bad variable is exit code 2 and is named",
		func(name, value string, args ...string) {
			l.env = []string{name + "=" + value}
			Expect(stderr(l.runs(2, args...))).To(ContainSubstring(name))
		},
		Entry(nil, "ENRICHCTL_WATCH", "maybe", "install"),
		Entry(nil, "ENRICHCTL_TIMEOUT", "soon", "install"),
		Entry(nil, "ENRICHCTL_LOG_LEVEL", "loud", "status"),
		Entry(nil, "ENRICHCTL_OUTPUT", "yaml", "status"),
		Entry(nil, "ENRICHCTL_PLUGIN_CONFIG", `{"gateways":"yes"}`, "install"),
		Entry(nil, "ENRICHCTL_METRICS_ADDRESS", "here", "install"),
		Entry(nil, "ENRICHCTL_CNI_BIN_DIR", "/a::/b", "status"),
		Entry(nil, "ENRICHCTL_PROBE", "2", "status"),
	)

	It("reads a flag before a variable before the default", func() {
		other := newLab()
		other.has("10-calico.conflist", calico)
		l.env = []string{
			"ENRICHCTL_CNI_CONF_DIR=" + l.conf, "ENRICHCTL_CNI_BIN_DIR=" + l.bin + ":" + other.bin,
			`ENRICHCTL_PLUGIN_CONFIG={"gateways":true}`, "ENRICHCTL_CONF_FILE=10-calico.conflist", "ENRICHCTL_DRY_RUN=",
		}
		l.runs(0, "install")
		Expect(read(l.list())).To(ContainSubstring(`{"type":"result-enricher","gateways":true}`))
		Expect(l.plugin()).To(BeAnExistingFile())
		Expect(other.plugin()).To(BeAnExistingFile())
		Expect(read(other.list())).To(Equal(calico))

		l.runs(0, "install", "--cni-conf-dir", other.conf, "--plugin-config", "{}")
		Expect(read(other.list())).To(Equal(enriched))
	})

	It("understands every boolean variable, and lists with colons", func() {
		l.env = []string{"ENRICHCTL_DRY_RUN=true", "ENRICHCTL_CNI_CONF_DIR=" + l.conf, "ENRICHCTL_CNI_BIN_DIR=" + l.bin}
		Expect(stdout(l.runs(0, "install"))).To(HavePrefix("--- "))
		Expect(read(l.list())).To(Equal(calico))
		second := l.has("20-b.conflist", calico)
		l.env = []string{"ENRICHCTL_CONF_FILE=10-calico.conflist:" + second}
		l.runs(0, l.args("install")...)
		Expect(read(second)).To(Equal(enriched))
		Expect(read(l.list())).To(Equal(enriched))
	})

	It("has help with an example for every command, on stdout", func() {
		for _, command := range []string{"install", "uninstall", "status", "version"} {
			help := stdout(l.runs(0, command, "--help"))
			Expect(help).To(ContainSubstring("Examples:\n  enrichctl " + command))
			Expect(help).To(ContainSubstring("--log-level"))
		}
	})

	It("tells its version", func() {
		Expect(stdout(l.runs(0, "version"))).To(Equal("enrichctl v1.2.3\n"))
		Expect(stdout(l.runs(0, "version", "-o", "json"))).To(MatchJSON(`{"version":"v1.2.3"}`))
	})

	It("logs JSON when stderr is no terminal, at the level that was asked for", func() {
		s := l.runs(0, l.args("install")...)
		for _, line := range strings.Split(strings.TrimSpace(stderr(s)), "\n") {
			var record map[string]any
			Expect(json.Unmarshal([]byte(line), &record)).To(Succeed(), line)
			Expect(record).To(HaveKey("msg"))
		}
		Expect(stderr(s)).To(ContainSubstring(l.list()))
		l.has("10-calico.conflist", calico)
		Expect(stderr(l.runs(0, l.args("install", "--log-level", "warn")...))).To(BeEmpty())
	})

	It("looks for the plugin beside itself, and says how to name another", func() {
		s := l.runs(1, l.args("install", "--plugin-binary", filepath.Join(l.root, "none"))...)
		Expect(stderr(s)).To(ContainSubstring("--plugin-binary"))
		Expect(read(l.list())).To(Equal(calico))
	})
})
