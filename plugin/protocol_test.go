// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"encoding/json"
	"maps"
	"regexp"

	"github.com/containernetworking/cni/pkg/version"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/internal/fieldcase"
)

// calico is prevResult as Calico up to v3.30 answers, to the byte.
const calico = `{"cniVersion":"0.3.1", "interfaces":[{"name":"cali0"}],"ips":[{"version":"4","address":"192.0.2.10/32"}],"dns":{} }`

// podLink is the pod's link that fits.
var podLink = fieldcase.Link{Name: "eth0", Kind: "veth", MAC: "00:00:5e:00:53:01", MTU: 1450}

// conf is the plugin's configuration around a prevResult.
func conf(version, keys, prevResult string) string {
	s := `{"cniVersion":"` + version + `","name":"net","type":"result-enricher"`
	if keys != "" {
		s += "," + keys
	}
	if prevResult != "" {
		s += `,"prevResult":` + prevResult
	}
	return s + "}"
}

var _ = Describe("DEL, GC and STATUS", func() {
	for _, command := range []string{"DEL", "GC", "STATUS"} {
		DescribeTable(command+" succeeds in silence", func(stdin string) {
			Expect(start(map[string]string{"CNI_COMMAND": command}, stdin)).To(Equal(answer{}))
			Expect(start(environment(command, "/run/netns/gone"), stdin)).To(Equal(answer{}))
		},
			Entry("without input", ""),
			Entry("with garbage", "{"),
			Entry("with a broken configuration", conf("1.1.0", `"failurePolicy":"fail","logLevel":7`, "null")),
			Entry("with an unknown version", conf("9.9.9", "", calico)),
		)
	}
})

var _ = Describe("a teardown", func() {
	It("is over before the packages of the binary are initialized", func() {
		initialized := func(command string) []string {
			a := start(map[string]string{"CNI_COMMAND": command, "GODEBUG": "inittrace=1"}, "")
			Expect(a.code).To(Equal(0))
			return regexp.MustCompile(`(?m)^init (\S+)`).FindAllString(a.stderr, -1)
		}
		Expect(initialized("VERSION")).To(ContainElements("init os", "init net", "init encoding/json"))
		for _, command := range []string{"DEL", "GC", "STATUS"} {
			Expect(initialized(command)).NotTo(ContainElements(BeElementOf("init os", "init net", "init encoding/json")))
		}
	})
})

var _ = Describe("VERSION", func() {
	It("lists every version of the library", func() {
		a := start(map[string]string{"CNI_COMMAND": "VERSION"}, "")
		Expect(a.code).To(Equal(0))
		var said struct {
			CNIVersion        string
			SupportedVersions []string
		}
		Expect(json.Unmarshal([]byte(a.stdout), &said)).To(Succeed())
		Expect(said.CNIVersion).To(Equal(version.Current()))
		Expect(said.SupportedVersions).To(Equal(version.All.SupportedVersions()))
		Expect(a.stderr).To(BeEmpty())
	})
})

var _ = Describe("a person", func() {
	It("is told the name, the version and the supported versions", func() {
		a := start(nil, "")
		Expect(a.code).To(Equal(0))
		Expect(a.stdout).To(BeEmpty())
		Expect(a.stderr).To(Equal("CNI plugin result-enricher v0.0.0-suite\nCNI protocol versions supported: 0.1.0, 0.2.0, 0.3.0, 0.3.1, 0.4.0, 1.0.0, 1.1.0\n"))
	})
})

var _ = Describe("errors under both policies", func() {
	DescribeTable("the environment is code 4", func(change map[string]string, complaint string) {
		env := environment("ADD", "/run/netns/gone")
		maps.Copy(env, change)
		e := start(env, conf("1.0.0", "", calico)).cniError()
		Expect(e.Code).To(BeEquivalentTo(4))
		Expect(e.Details).To(ContainSubstring(complaint))
	},
		Entry("an unknown command", map[string]string{"CNI_COMMAND": "ADDD"}, `"ADDD"`),
		Entry("no container ID", map[string]string{"CNI_CONTAINERID": ""}, "CNI_CONTAINERID not set"),
		Entry("no namespace", map[string]string{"CNI_NETNS": ""}, "CNI_NETNS not set"),
		Entry("no interface name", map[string]string{"CNI_IFNAME": ""}, "CNI_IFNAME not set"),
		Entry("a container ID with a slash", map[string]string{"CNI_CONTAINERID": "../x"}, `CNI_CONTAINERID "../x"`),
		Entry("an interface name that is none", map[string]string{"CNI_IFNAME": "a/b"}, `CNI_IFNAME "a/b"`),
		Entry("a long interface name", map[string]string{"CNI_IFNAME": "abcdefghijklmnop"}, "CNI_IFNAME"),
	)

	DescribeTable("what stdin holds", func(stdin string, code int, complaints ...string) {
		for _, command := range []string{"ADD", "CHECK"} {
			e := start(environment(command, "/run/netns/gone"), stdin).cniError()
			Expect(e.Code).To(BeEquivalentTo(code), command)
			for _, complaint := range complaints {
				Expect(e.Details).To(ContainSubstring(complaint))
			}
		}
	},
		Entry("nothing", "", 6, "unexpected end"),
		Entry("half an object", "{", 6, "unexpected end"),
		Entry("a list", "[]", 6, "array"),
		Entry("null", "null", 6, "null"),
		Entry("two documents", "{}{}", 6, "after top-level value"),
		Entry("a version that is no string", `{"cniVersion":1}`, 6, "cniVersion"),
		Entry("an unknown policy", conf("1.0.0", `"failurePolicy":"maybe"`, calico), 7, `failurePolicy`, `"maybe"`),
		Entry("a policy that is no string", conf("1.0.0", `"failurePolicy":1`, calico), 7, "failurePolicy", "not 1"),
		Entry("gateways that are no boolean", conf("1.0.0", `"gateways":"yes"`, calico), 7, `gateways`, `"yes"`),
		Entry("an unknown level", conf("1.0.0", `"logLevel":"INFO"`, calico), 7, `logLevel`, `"INFO"`),
		Entry("a log file that is no string", conf("1.0.0", `"logFile":{}`, calico), 7, "logFile", "{}"),
		Entry("several at once", conf("1.0.0", `"logFile":1,"gateways":2`, calico), 7, "logFile", "gateways"),
	)

	DescribeTable("ADD needs a prevResult that is an object", func(prev string, code int) {
		for _, policy := range []string{"ignore", "fail"} {
			e := start(environment("ADD", "/run/netns/gone"), conf("1.0.0", `"failurePolicy":"`+policy+`"`, prev)).cniError()
			Expect(e.Code).To(BeEquivalentTo(code))
		}
	},
		Entry("absent", "", 7),
		Entry("null", "null", 7),
		Entry("a list", "[]", 6),
		Entry("a string", `"x"`, 6),
	)

	It("says where the plugin belongs when there is no prevResult", func() {
		e := start(environment("ADD", "/run/netns/gone"), conf("1.0.0", "", "")).cniError()
		Expect(e.Details).To(ContainSubstring("must be chained after an interface plugin"))
	})

	It("is code 8 and nothing else in the plugin's own namespace", func() {
		for _, policy := range []string{"ignore", "fail"} {
			env := environment("ADD", "/proc/self/ns/net")
			stdin := conf("0.3.1", `"failurePolicy":"`+policy+`"`, calico)
			Expect(start(env, stdin).cniError().Code).To(BeEquivalentTo(8))

			env["CNI_NETNS_OVERRIDE"] = "true"
			a := start(env, conf("0.3.1", "", calico))
			Expect(a.code).To(Equal(0))
			Expect(a.stdout).To(Equal(calico), "no eth0 there, but asked for")
		}
	})
})

var _ = Describe("the configuration", func() {
	It("has defaults for null, ignores unknown keys, and matches keys to the letter", func() {
		ns := newPod("cni-defaults", []fieldcase.Link{podLink}, nil)
		a := start(environment("ADD", ns.Path), conf("0.3.1", `"failurePolicy":null,"gateways":null,"logLevel":null,"logFile":null,"FailurePolicy":7,"x":[]`, calico))
		Expect(a.code).To(Equal(0))
		Expect(a.stdout).To(MatchJSON(`{"cniVersion":"0.3.1","interfaces":[{"name":"cali0"},{"name":"eth0","mac":"00:00:5e:00:53:01","sandbox":"/run/netns/cni-defaults"}],
			"ips":[{"version":"4","address":"192.0.2.10/32","interface":1}],"dns":{}}`))
	})
})
