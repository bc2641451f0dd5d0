// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// What needs a namespace is tested in e2e/drivers.
var _ = Describe("show and explain without a namespace", func() {
	var l *lab
	BeforeEach(func() { l = newLab() })

	// caches writes what libcni keeps of a container whose namespace is gone.
	caches := func(id string) {
		GinkgoHelper()
		Expect(os.WriteFile(filepath.Join(l.cache, "pods-"+id+"-eth0"), []byte(`{"kind":"cniCacheV1","containerId":"`+id+`",
			"config":"eyJjbmlWZXJzaW9uIjoiMS4wLjAifQ==","ifName":"eth0","networkName":"pods","netns":"/nonexistent/netns",
			"result":{"cniVersion":"1.0.0","interfaces":[{"name":"eth0","mac":"02:00:00:00:00:01","sandbox":"/nonexistent/netns"}],
			"ips":[{"interface":0,"address":"192.0.2.10/24","gateway":"192.0.2.1"}]}}`), 0o600)).To(Succeed())
	}
	show := func(code int, args ...string) (out, said string) {
		GinkgoHelper()
		s := l.runs(code, append([]string{"show", "--cache-dir", l.cache}, args...)...)
		return stdout(s), stderr(s)
	}

	DescribeTable("a mistake in the call is exit code 2 and said on stderr", func(said string, args ...string) {
		s := l.runs(2, args...)
		Expect(stderr(s)).To(ContainSubstring(said))
		Expect(stdout(s)).To(BeEmpty())
	},
		Entry("nothing to explain", "--netns or --container-id", "explain"),
		Entry("an argument for explain", "takes no arguments", "explain", "x"),
		Entry("no name of a link", "--ifname", "explain", "--netns", "/n", "--ifname", "a/b"),
		Entry("no container's ID", "--container-id", "explain", "--container-id", "a/b"),
		Entry("a bad configuration", "gateways must be", "explain", "--netns", "/n", "--plugin-config", `{"gateways":1}`),
		Entry("a bad output of explain", "text or json", "explain", "-o", "yaml"),
		Entry("two containers", "one container's ID", "show", "a", "b"),
		Entry("no machine", "needs the ID", "show", "-o", "firecracker"),
		Entry("a bad output of show", "text or json or firecracker", "show", "-o", "yaml"),
	)

	It("names a bad variable", func() {
		l.env = []string{"ENRICHCTL_PLUGIN_CONFIG=[]"}
		Expect(stderr(l.runs(2, "explain", "--netns", "/n"))).To(ContainSubstring("ENRICHCTL_PLUGIN_CONFIG"))
	})

	It("says that there is nothing, and that this is an empty list", func() {
		out, said := show(0)
		Expect([]string{out, said}).To(Equal([]string{"No attachments are cached.\n", ""}))
		out, _ = show(0, "-o", "json")
		Expect(out).To(MatchJSON(`[]`))
		out, said = show(1, "c-1")
		Expect(out).To(BeEmpty())
		Expect(said).To(And(ContainSubstring("no attachment is cached"), ContainSubstring(l.cache)))
	})

	It("lists what can be read, and says what cannot", func() {
		caches("c-1")
		Expect(os.WriteFile(filepath.Join(l.cache, "broken"), []byte("{"), 0o600)).To(Succeed())
		out, said := show(0)
		Expect(out).To(MatchRegexp(`(?m)^c-1 +pods +eth0 +02:00:00:00:00:01 +- +\? +192\.0\.2\.10/24$`))
		Expect(said).To(ContainSubstring(filepath.Join(l.cache, "broken")))
	})

	It("shows a container whose namespace is gone, and fails", func() {
		caches("c-1")
		out, said := show(1, "c-1")
		Expect(out).To(And(ContainSubstring("192.0.2.10/24 via 192.0.2.1"), MatchRegexp(`(?m)^incomplete +sandbox cannot be inspected`)))
		Expect(said).To(ContainSubstring("/nonexistent/netns"))
		out, _ = show(1, "c-1", "-o", "json")
		Expect(out).To(ContainSubstring(`"incomplete": "sandbox cannot be inspected`))
	})

	It("finds a container by the beginning of its ID, and never one of two", func() {
		caches("abc-1")
		out, _ := show(1, "ab")
		Expect(out).To(ContainSubstring("abc-1"))
		caches("abc-2")
		out, said := show(1, "ab")
		Expect(out).To(BeEmpty())
		Expect(said).To(ContainSubstring("2 cached containers begin with"))
	})

	It("explains nothing without a Result", func() {
		said := stderr(l.runs(1, "explain", "--cache-dir", l.cache, "--container-id", "c-1"))
		Expect(said).To(ContainSubstring("give the Result with --result"))
	})

	It("explains nothing without a namespace", func() {
		result := filepath.Join(l.root, "result.json")
		Expect(os.WriteFile(result, []byte(`{}`), 0o600)).To(Succeed())
		said := stderr(l.runs(1, "explain", "--cache-dir", l.cache, "--container-id", "c-1", "--result", result))
		Expect(said).To(ContainSubstring("give it with --netns"))
		caches("c-1")
		said = stderr(l.runs(1, "explain", "--cache-dir", l.cache, "--container-id", "c-1"))
		Expect(said).To(And(ContainSubstring("/nonexistent/netns"), ContainSubstring("is the container running")))
	})
})
