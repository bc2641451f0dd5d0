// SPDX-License-Identifier: Apache-2.0

package examples_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
	"go.yaml.in/yaml/v3"
)

// usage is enrichctl's exit code for a mistake in the call.
const usage = 2

var _ = Describe("what the examples tell enrichctl", Ordered, func() {
	var enrichctl string

	BeforeAll(func() {
		var err error
		enrichctl, err = gexec.Build("github.com/result-enricher/result-enricher/enrichctl")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(gexec.CleanupBuildArtifacts)
	})

	// run returns the exit code and all output of enrichctl, which finds no variables but these.
	run := func(env []string, args ...string) (int, string) {
		GinkgoHelper()
		cmd := exec.Command(enrichctl, args...)
		cmd.Env = append([]string{}, env...) // not nil, which would be the tests' own
		output, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			Expect(err).NotTo(HaveOccurred())
		}
		return cmd.ProcessState.ExitCode(), string(output)
	}

	// flags are the names of a command's flags.
	flags := func(command string) []string {
		GinkgoHelper()
		code, help := run(nil, command, "--help")
		Expect(code).To(BeZero())
		var names []string
		for _, match := range regexp.MustCompile(`--([a-z][a-z-]+)`).FindAllStringSubmatch(help, -1) {
			names = append(names, match[1])
		}
		return names
	}

	// expectCommand has a command line parsed. With --help nothing is done, but flags are read first.
	expectCommand := func(args []string) {
		GinkgoHelper()
		code, output := run(nil, append(args, "--help")...)
		Expect(code).To(BeZero(), output)
		Expect(output).To(ContainSubstring("enrichctl "+args[0]+" [flags]"), "the help of this command")
	}

	// expectVariables asks whether each is a flag of install or status, and status whether it likes their values.
	expectVariables := func(variables map[string]string) {
		GinkgoHelper()
		known := append(flags("install"), flags("status")...)
		var env []string
		for name, value := range variables {
			flag := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, "ENRICHCTL_")), "_", "-")
			Expect(known).To(ContainElement(flag), name)
			env = append(env, name+"="+value)
		}
		code, output := run(env, "status", "--probe")
		Expect(code).To(BeElementOf(0, 1), output)
		// Nothing is installed with a dry run, and nothing looked at with a binary that is not there.
		code, output = run(env, "install", "--dry-run", "--plugin-binary", filepath.Join(GinkgoT().TempDir(), "none"))
		Expect(code).To(Equal(1), output)
	}

	It("is understood of the DaemonSets", func() {
		count := 0
		for _, path := range daemonSets() {
			content, err := os.ReadFile(path)
			Expect(err).NotTo(HaveOccurred())
			var ds manifest
			Expect(yaml.Unmarshal(content, &ds)).To(Succeed(), path)
			c := ds.Spec.Template.Spec.Containers[0]
			if c.Args != nil {
				count++
				expectCommand(c.Args)
			}
			if c.ReadinessProbe != nil {
				expectCommand(c.ReadinessProbe.Exec.Command[1:])
			}
			expectVariables(c.env())
		}
		Expect(count).To(Equal(2), "install and uninstall")
	})

	It("is understood of the unit, which runs before the kubelet", func() {
		unit := readUnit()
		Expect(unit["ExecStart"]).To(Equal([]string{"/usr/local/bin/enrichctl install --watch"}))
		expectCommand(strings.Fields(unit["ExecStart"][0])[1:])
		Expect(strings.Fields(unit["Before"][0])).To(ContainElement("kubelet.service"))
		// With a start that waits for the conflist, the kubelet would wait for what it has to start itself.
		Expect(unit["Type"]).To(Equal([]string{"exec"}))
		Expect(strings.Fields(unit["CapabilityBoundingSet"][0])).To(ConsistOf("CAP_DAC_OVERRIDE", "CAP_CHOWN"))
	})

	It("is understood of the unit's suggestions", func() {
		content, err := os.ReadFile(filepath.Join("systemd", "result-enricher.service"))
		Expect(err).NotTo(HaveOccurred())
		suggested := map[string]string{}
		for _, match := range regexp.MustCompile(`(?m)^#\s+Environment=(ENRICHCTL_\w+)=(\S+)$`).FindAllStringSubmatch(string(content), -1) {
			suggested[match[1]] = match[2]
		}
		Expect(suggested).To(HaveLen(2))
		expectVariables(suggested)
	})

	It("is understood of the Nomad job", func() {
		job, err := os.ReadFile(filepath.Join("nomad", "result-enricher.nomad.hcl"))
		Expect(err).NotTo(HaveOccurred())
		Expect(string(job)).To(MatchRegexp(`args\s+= \[var\.command, "--watch"\]`))
		expectCommand([]string{"install", "--watch"})
		expectCommand([]string{"uninstall", "--watch"})
		variables := map[string]string{}
		for _, match := range regexp.MustCompile(`(?m)^\s+(ENRICHCTL_\w+)\s+= (.+)$`).FindAllStringSubmatch(string(job), -1) {
			variables[match[1]] = hclValue(match[2])
		}
		Expect(variables).To(HaveLen(4))
		expectVariables(variables)
	})

	It("would be noticed if it were wrong", func() {
		code, output := run(nil, "install", "--wach", "--help")
		Expect(code).To(Equal(usage), output)
		code, output = run([]string{`ENRICHCTL_PLUGIN_CONFIG={"gateways": "yes"}`}, "install", "--dry-run")
		Expect(code).To(Equal(usage), output)
	})
})

// daemonSets lists the files that are a DaemonSet or a patch of it.
func daemonSets() []string {
	GinkgoHelper()
	var found []string
	for _, pattern := range []string{"kubernetes/*/daemonset.yaml", "kubernetes/overlays/*/daemonset.yaml"} {
		paths, err := filepath.Glob(pattern)
		Expect(err).NotTo(HaveOccurred())
		found = append(found, paths...)
	}
	Expect(found).To(HaveLen(5), "base, uninstall, and three platforms")
	return found
}

// readUnit gives the settings of the systemd unit.
func readUnit() map[string][]string {
	GinkgoHelper()
	content, err := os.ReadFile(filepath.Join("systemd", "result-enricher.service"))
	Expect(err).NotTo(HaveOccurred())
	settings := map[string][]string{}
	for line := range strings.Lines(string(content)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(line, "#") {
			settings[key] = append(settings[key], value)
		}
	}
	return settings
}

// hclValue evaluates the three kinds of expressions that the job has.
func hclValue(expression string) string {
	GinkgoHelper()
	switch expression {
	case "var.conflist":
		return "calico.conflist"
	case "jsonencode({ gateways = true })":
		return `{"gateways":true}`
	}
	Expect(expression).To(MatchRegexp(`^"[^"$]*"$`), "a plain string")
	return strings.Trim(expression, `"`)
}
