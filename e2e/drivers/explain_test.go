// SPDX-License-Identifier: Apache-2.0

package drivers

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// readme is the main module's.
var readme = filepath.Join("..", "..", "README.md")

// expectInReadme expects an output, with its random MAC exchanged for a fixed one, in a console block of the README behind
// the command that gave it.
func expectInReadme(command, output, mac string) {
	GinkgoHelper()
	text, err := os.ReadFile(readme)
	Expect(err).NotTo(HaveOccurred())
	output = strings.ReplaceAll(output, mac, "3a:dd:bc:ad:13:95")
	Expect(string(text)).To(ContainSubstring("$ enrichctl " + command + "\n" + strings.TrimRight(output, "\n") + "\n```\n"))
}

var _ = It("shows no Go code in the README that is not the library's example", func() {
	text, err := os.ReadFile(readme)
	Expect(err).NotTo(HaveOccurred())
	example, err := os.ReadFile(filepath.Join("..", "..", "enrich", "attachment", "example_test.go"))
	Expect(err).NotTo(HaveOccurred())
	// A driver needs no other cache than the default one.
	source := strings.ReplaceAll(string(example), ", attachment.WithCacheDirs(cacheDir)", "")
	_, code, found := strings.Cut(string(text), "```go\n")
	Expect(found).To(BeTrue())
	code, _, _ = strings.Cut(code, "```")
	lines := 0
	for line := range strings.Lines(code) {
		if line = strings.TrimSpace(line); line != "" {
			Expect(source).To(ContainSubstring(line + "\n"))
			lines++
		}
	}
	Expect(lines).To(BeNumerically("<=", 10))
})

var _ = Describe("explain", func() {
	// before is Calico's answer, taken from a chain without the plugin.
	before := func() (netns, mac, result string) {
		GinkgoHelper()
		ns := newPod("demo-pod")
		answer := add(ns, "demo-pod", conflist("k8s-pod-network", "0.3.1", calicoShaped))
		answer.CNIVersion = "1.1.0"
		converted, err := answer.GetAsVersion("0.3.1")
		Expect(err).NotTo(HaveOccurred())
		raw, err := json.Marshal(converted)
		Expect(err).NotTo(HaveOccurred())
		mac, _ = pod(ns)
		return ns.Path, mac, string(raw)
	}

	It("tells the whole story on one screen, as the README shows it", func() {
		_, mac, _ := before()
		stdout, stderr, code := run("", "explain", "--container-id", "demo-pod")
		Expect(code).To(Equal(0), stderr)
		lines := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
		Expect(len(lines)).To(BeNumerically("<=", 50))
		for _, line := range lines {
			Expect(utf8.RuneCountInString(line)).To(BeNumerically("<=", 80), line)
		}
		Expect(stdout).To(And(
			ContainSubstring(mac), ContainSubstring("Result names no interface inside the pod"), ContainSubstring("Faults of the consumers: 4 before, 0 after."),
			Not(ContainSubstring("\x1b"))))
		expectInReadme("explain --container-id demo-pod", stdout, mac)
	})

	It("is the same from a file, from stdin, and from the cache by the namespace", func() {
		netns, _, result := before()
		file := filepath.Join(GinkgoT().TempDir(), "result.json")
		Expect(os.WriteFile(file, []byte(result), 0o600)).To(Succeed())
		link := filepath.Join(GinkgoT().TempDir(), "link")
		Expect(os.Symlink(netns, link)).To(Succeed())
		var outputs []string
		for _, args := range [][]string{{"--container-id", "demo-pod"}, {"--netns", netns}, {"--netns", netns, "--result", file}, {"--netns", netns, "--result", "-"}, {"--netns", link}} {
			stdout, stderr, code := run(result, append([]string{"explain"}, args...)...)
			Expect(code).To(Equal(0), stderr)
			outputs = append(outputs, stdout)
		}
		Expect(outputs).To(HaveEach(outputs[0]))
	})

	It("changes nothing", func() {
		netns, _, result := before()
		cache := "/var/lib/cni/results/k8s-pod-network-demo-pod-eth0"
		kept, err := os.ReadFile(cache)
		Expect(err).NotTo(HaveOccurred())
		log := filepath.Join(GinkgoT().TempDir(), "log")
		_, stderr, code := run(result, "explain", "--netns", netns, "--result", "-", "--plugin-config", `{"logFile":"`+log+`","logLevel":"debug"}`)
		Expect(code).To(Equal(0), stderr)
		Expect(log).NotTo(BeAnExistingFile())
		Expect(os.ReadFile(cache)).To(Equal(kept))
	})

	It("is for programs, too", func() {
		netns, mac, result := before()
		stdout, stderr, code := run(result, "explain", "--netns", netns, "--result", "-", "--plugin-config", `{"gateways":true}`, "-o", "json")
		Expect(code).To(Equal(0), stderr)
		var e struct {
			IfName        string
			Before, After struct {
				Interfaces []struct{ Name, Mac, Sandbox string }
				IPs        []struct {
					Interface *int
					Gateway   string
				}
			}
			Repairs   []struct{ Rule, Path, Reason string }
			Consumers []struct {
				Consumer string
				Before   struct{ Faults []struct{ Code string } }
				After    struct{ Faults []struct{ Code string } }
			}
		}
		Expect(json.Unmarshal([]byte(stdout), &e)).To(Succeed())
		Expect(e.Before.Interfaces).To(HaveLen(1))
		Expect(e.After.Interfaces[1]).To(Equal(struct{ Name, Mac, Sandbox string }{"eth0", mac, netns}))
		Expect(*e.After.IPs[0].Interface).To(Equal(1))
		Expect(e.After.IPs[0].Gateway).To(Equal("169.254.1.1"))
		rules := []string{}
		for _, r := range e.Repairs {
			rules = append(rules, r.Rule)
		}
		Expect(rules).To(Equal([]string{"R6", "R7", "R8"}))
		names := []string{}
		for _, c := range e.Consumers {
			names = append(names, c.Consumer)
			Expect(c.Before.Faults).NotTo(BeEmpty(), c.Consumer)
			Expect(c.After.Faults).To(BeEmpty(), c.Consumer)
		}
		Expect(names).To(Equal([]string{"containerd", "multus", "firecracker", "nomad"}))
	})
})
