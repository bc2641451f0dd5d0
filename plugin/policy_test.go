// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"

	"github.com/result-enricher/result-enricher/internal/fieldcase"
)

var _ = Describe("failurePolicy", func() {
	DescribeTable("ignore hands on the bytes of prevResult and says so, fail is a CNI error",
		func(netns func() string, version, prev, said string, code int) {
			env := environment("ADD", netns())
			a := start(env, conf(version, "", prev))
			Expect(a.code).To(Equal(0), a.stdout)
			Expect(a.stdout).To(Equal(prev))
			log := records(a.stderr)
			Expect(log).To(HaveLen(1))
			Expect(log[0].Level).To(Equal("WARN"))
			Expect(log[0].Error + log[0].Reason).To(ContainSubstring(said))
			Expect(log[0].ContainerID).To(Equal("c-1"))
			Expect(log[0].IfName).To(Equal("eth0"))
			Expect(log[0].Netns).To(Equal(env["CNI_NETNS"]))

			a = start(env, conf(version, `"failurePolicy":"fail"`, prev))
			e := a.cniError()
			Expect(e.Code).To(BeEquivalentTo(code))
			Expect(e.Details).To(ContainSubstring(said))
			Expect(a.stderr).To(BeEmpty(), "an error that is returned is not logged")
		},
		Entry("a namespace that is gone", path("/run/netns/gone"), "0.3.1", calico, "no such namespace", 8),
		Entry("a path that is no namespace", path("/etc/passwd"), "0.3.1", calico, "not a network namespace", 8),
		Entry("no pod link", emptyPod, "0.3.1", calico, "no link of that name", 100),
		Entry("a prevResult that does not decode", emptyPod, "0.3.1", `{"cniVersion":"0.3.1","ips":[{"address": 7}]}`, "cannot decode", 6),
		Entry("a prevResult of no known version", emptyPod, "0.3.1", `{"cniVersion":"9.9.9"}`, "9.9.9", 6),
		Entry("a configuration that is newer than the library", emptyPod, "9.9.9", calico, "9.9.9", 1),
		Entry("a version that is none", emptyPod, "banana", calico, "banana", 1),
	)

	It("calls a device without a netdev no fault", func() {
		const prev = `{"cniVersion":"1.0.0","interfaces":[{"name":"eth0","pciID":"0000:08:06.3","sandbox":"x"}]}`
		env := environment("ADD", emptyPod())
		for _, policy := range []string{"ignore", "fail"} {
			Expect(start(env, conf("1.0.0", `"failurePolicy":"`+policy+`"`, prev))).To(Equal(answer{stdout: prev}))
		}
		a := start(env, conf("1.0.0", `"logLevel":"debug"`, prev))
		Expect(records(a.stderr)).To(HaveExactElements(HaveField("Level", "DEBUG")))
	})

	It("drops impossible indices of a Result that it leaves alone", func() {
		a := start(environment("ADD", "/run/netns/gone"), conf("1.0.0", "", `{"cniVersion":"1.0.0","interfaces":[{"name":"cali0"}],"ips":[null,{"address":"192.0.2.10/32","interface":1}]}`))
		Expect(a.code).To(Equal(0))
		Expect(a.stdout).To(MatchJSON(`{"cniVersion":"1.0.0","interfaces":[{"name":"cali0"}],"ips":[{"address":"192.0.2.10/32"}]}`))
		Expect(records(a.stderr)).To(HaveExactElements(And(
			HaveField("Level", "WARN"), HaveField("Reason", ContainSubstring("no such namespace")), HaveField("Repairs", HaveLen(2)))))
	})

	It("echoes what has no interfaces in its format", func() {
		for _, version := range []string{"0.1.0", "0.2.0", ""} {
			const prev = `{"ip4":{"ip":"192.0.2.10/32"}, "x":1 }`
			Expect(start(environment("ADD", "/run/netns/gone"), conf(version, `"failurePolicy":"fail"`, prev))).
				To(Equal(answer{stdout: prev}))
		}
	})
})

func path(p string) func() string { return func() string { return p } }

func emptyPod() string { return newPod("cni-empty", nil, nil).Path }

var _ = Describe("versions", func() {
	It("gives the Result the configuration's", func() {
		ns := newPod("cni-versions", []fieldcase.Link{podLink}, nil)
		a := start(environment("ADD", ns.Path), conf("1.1.0", "", calico))
		Expect(a.stdout).To(MatchJSON(`{"cniVersion":"1.1.0","interfaces":[{"name":"cali0"},{"name":"eth0","mac":"00:00:5e:00:53:01","mtu":1450,"sandbox":"/run/netns/cni-versions"}],
			"ips":[{"address":"192.0.2.10/32","interface":1}]}`))
	})
})

var _ = DescribeTable("a right Result", func(version, prev string) {
	newPod("cni-right", []fieldcase.Link{podLink}, nil)
	a := start(environment("ADD", "/run/netns/cni-right"), conf("0.4.0", "", `{`+version+prev))
	Expect(a.stdout).To(MatchJSON(`{"cniVersion":"0.4.0",` + prev))
	Expect(a.stderr).To(BeEmpty(), "nothing was repaired")
},
	Entry("of another version is converted", `"cniVersion":"0.3.1",`, right),
	Entry("without a version gets one", ``, right),
)

const right = `"interfaces":[{"name":"eth0","mac":"00:00:5e:00:53:01","sandbox":"/run/netns/cni-right"}],"dns":{}}`

var _ = Describe("gateways", func() {
	It("come from the kernel when they are asked for", func() {
		ns := newPod("cni-gateways", []fieldcase.Link{podLink}, nil)
		link, err := ns.Netlink.LinkByName("eth0")
		Expect(err).NotTo(HaveOccurred())
		Expect(ns.Netlink.RouteAdd(onLink(link, "169.254.1.1/32", ""))).To(Succeed())
		Expect(ns.Netlink.RouteAdd(onLink(link, "0.0.0.0/0", "169.254.1.1"))).To(Succeed())
		a := start(environment("ADD", ns.Path), conf("0.3.1", `"gateways":true`, calico))
		Expect(a.stdout).To(MatchJSON(`{"cniVersion":"0.3.1","interfaces":[{"name":"cali0"},{"name":"eth0","mac":"00:00:5e:00:53:01","sandbox":"/run/netns/cni-gateways"}],
			"ips":[{"version":"4","address":"192.0.2.10/32","interface":1,"gateway":"169.254.1.1"}],"dns":{}}`))
	})
})

var _ = Describe("the log", func() {
	It("has one line for an ADD that changed something, with every repair and its reason", func() {
		ns := newPod("cni-log", []fieldcase.Link{podLink}, nil)
		a := start(environment("ADD", ns.Path), conf("0.3.1", "", calico))
		log := records(a.stderr)
		Expect(log).To(HaveLen(1))
		Expect(log[0].Level).To(Equal("INFO"))
		Expect(log[0].Netns).To(Equal(ns.Path))
		Expect(log[0].Repairs).To(HaveLen(2))
		Expect(log[0].Repairs[0].Rule).To(Equal("R6"))
		Expect(log[0].Repairs[0].Path).To(Equal("interfaces[1]"))
		Expect(log[0].Repairs[0].Old).To(BeNil())
		Expect(log[0].Repairs[0].New).To(HaveKeyWithValue("mac", "00:00:5e:00:53:01"))
		Expect(log[0].Repairs[1].Rule).To(Equal("R7"))
		Expect(log[0].Repairs[1].Path).To(Equal("ips[0].interface"))
		Expect(log[0].Repairs[1].New).To(BeEquivalentTo(1))
		Expect(log[0].Repairs[1].Reason).NotTo(BeEmpty())

		Expect(start(environment("ADD", ns.Path), conf("0.3.1", `"logLevel":"warn"`, calico)).stderr).To(BeEmpty())
		Expect(start(environment("ADD", ns.Path), conf("0.3.1", "", a.stdout)).stderr).To(BeEmpty(), "nothing changed")
	})

	add := func(logFile string) answer {
		return start(environment("ADD", "/run/netns/gone"), conf("0.3.1", `"logFile":"`+logFile+`"`, calico))
	}

	It("is appended to the file, which is made for root only", func() {
		file := filepath.Join(GinkgoT().TempDir(), "log")
		first, second := add(file), add(file)
		written, err := os.ReadFile(file)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(written)).To(Equal(first.stderr + second.stderr))
		info, err := os.Stat(file)
		Expect(err).NotTo(HaveOccurred())
		Expect(info.Mode()).To(Equal(os.FileMode(0o600)))
	})

	DescribeTable("goes to stderr with a warning when the file cannot be written", func(occupy func(path string) error) {
		dir := GinkgoT().TempDir()
		file := filepath.Join(dir, "log")
		Expect(occupy(file)).To(Succeed())
		a := add(file)
		Expect(a.code).To(Equal(0))
		Expect(a.stdout).To(Equal(calico))
		Expect(records(a.stderr)).To(HaveExactElements(
			And(HaveField("Level", "WARN"), HaveField("LogFile", file)), HaveField("Error", Not(BeNil()))))
		target, err := os.ReadFile(filepath.Join(dir, "target"))
		if !os.IsNotExist(err) {
			Expect(target).To(BeEmpty(), "no link is followed")
		}
	},
		Entry("a symbolic link", func(path string) error {
			target := filepath.Join(filepath.Dir(path), "target")
			if err := os.WriteFile(target, nil, 0o600); err != nil {
				return err
			}
			return os.Symlink(target, path)
		}),
		Entry("a FIFO that nobody reads", func(path string) error { return unix.Mkfifo(path, 0o600) }),
		Entry("a directory", func(path string) error { return os.Mkdir(path, 0o700) }),
	)

	It("does not end an ADD when nobody reads stderr any more", func() {
		read, write, err := os.Pipe()
		Expect(err).NotTo(HaveOccurred())
		Expect(read.Close()).To(Succeed())
		defer write.Close()
		cmd := exec.Command(binary)
		for key, value := range environment("ADD", "/run/netns/gone") {
			cmd.Env = append(cmd.Env, key+"="+value)
		}
		cmd.Stdin, cmd.Stderr = strings.NewReader(conf("0.3.1", "", calico)), write
		stdout, err := cmd.Output()
		Expect(err).NotTo(HaveOccurred())
		Expect(string(stdout)).To(Equal(calico))
	})

	It("does not keep an ADD from going on when the directory is missing", func() {
		a := add("/nowhere/log")
		Expect(a.stdout).To(Equal(calico))
		Expect(strings.Count(a.stderr, "\n")).To(Equal(2))
	})
})
