// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"encoding/json"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/internal/fieldcase"
	"github.com/result-enricher/result-enricher/internal/podns"
)

// end is what a fault may end in.
type end string

const (
	repaired end = "repaired"
	handedOn end = "handed on"
	failed   end = "CNI error"
	died     end = "died"
)

// underFail is the end under the policy "fail" of what ends so under "ignore":
// the policy changes the answer, not what can be read.
func (e end) underFail() end {
	if e == handedOn {
		return failed
	}
	return e
}

// kept holds an answer to the promise: the bytes of prevResult with a record
// that says why, or the right Result. It tells which of the two it was.
func (a answer) kept(prev, right string) end {
	GinkgoHelper()
	Expect(a.code).To(Equal(0), "stdout %q stderr %q", a.stdout, a.stderr)
	Expect(a.stderr).NotTo(ContainSubstring("panic"))
	log := records(a.stderr)
	if a.stdout == prev {
		Expect(log).To(ContainElement(And(
			HaveField("Level", "WARN"), HaveField("ContainerID", "c-1"),
			Or(HaveField("Reason", Not(BeEmpty())), HaveField("Error", Not(BeEmpty()))))))
		return handedOn
	}
	Expect(a.stdout).To(MatchJSON(right))
	return repaired
}

// keptUnderFail is kept for the policy "fail", where the other end is one CNI
// error.
func (a answer) keptUnderFail(right string) end {
	GinkgoHelper()
	Expect(a.stderr).NotTo(ContainSubstring("panic"))
	if a.code == 0 {
		Expect(a.stdout).To(MatchJSON(right))
		return repaired
	}
	e := a.cniError()
	Expect(e.Code).NotTo(BeZero())
	Expect(e.Msg).NotTo(BeEmpty())
	return failed
}

// faultyPod is a pod whose Result is calico's, and the repaired one.
func faultyPod() (ns *podns.NS, right string) {
	GinkgoHelper()
	link := podLink
	ns = newPod("cni-faults", []fieldcase.Link{link}, nil)
	return ns, `{"cniVersion":"0.3.1","interfaces":[{"name":"cali0"},{"name":"eth0","mac":"` + link.MAC + `","sandbox":"` + ns.Path + `"}],
		"ips":[{"version":"4","address":"192.0.2.10/32","interface":1}],"dns":{}}`
}

var _ = Describe("exhausted file descriptors", func() {
	It("end in prevResult or in the right Result, whatever the limit", func() {
		ns, right := faultyPod()
		env := environment("ADD", ns.Path)
		ends := map[int]end{}
		for _, limit := range []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 64} {
			p := shell(fmt.Sprintf(`ulimit -n %d && exec "$0"`, limit))
			By(fmt.Sprintf("%d descriptors", limit))
			ends[limit] = p.run(env, conf("0.3.1", "", calico)).kept(calico, right)
			underFail := p.run(env, conf("0.3.1", `"failurePolicy":"fail"`, calico)).keptUnderFail(right)
			Expect(underFail).To(Equal(ends[limit].underFail()))
		}
		Expect(ends).To(And(HaveKeyWithValue(3, handedOn), HaveKeyWithValue(64, repaired)))
	})

	It("let an ADD go on without its log file", func() {
		ns, right := faultyPod()
		file := GinkgoT().TempDir() + "/log"
		a := shell(`ulimit -n 3 && exec "$0"`).run(environment("ADD", ns.Path), conf("0.3.1", `"logFile":"`+file+`"`, calico))
		Expect(a.kept(calico, right)).To(Equal(handedOn))
		Expect(records(a.stderr)).To(ContainElement(And(HaveField("LogFile", file), HaveField("Error", ContainSubstring("too many open files")))))
	})
})

// large is a prevResult whose decoding takes megabytes.
func large() string {
	var routes []string
	for i := range 20_000 {
		routes = append(routes, fmt.Sprintf(`{"dst":"10.%d.%d.%d/32"}`, i>>16, i>>8&255, i&255))
	}
	return `{"cniVersion":"0.3.1","interfaces":[{"name":"cali0"}],"ips":[{"version":"4","address":"192.0.2.10/32"}],"routes":[` + strings.Join(routes, ",") + `],"dns":{} }`
}

// endOf is kept for a plugin that may die of too little memory.
//
// Go's runtime ends a process that gets no memory, or no thread, with a message
// on stderr and code 2; before it runs, the kernel does, with a signal. Nothing
// in a program can change that. What can be promised is that stdout is empty
// then, or has all of it: it gets its one document in one write, at the very end.
// Only a memory cgroup can end the process within the write; see torn.
func endOf(a answer, prev string, right func() string) end {
	GinkgoHelper()
	if a.code == 0 {
		return a.kept(prev, right())
	}
	Expect(a.code).To(BeElementOf(-1, 2), a.stderr)
	if a.stdout != "" {
		// It died behind the write. A matcher would print megabytes.
		Expect(json.Valid([]byte(a.stdout))).To(BeTrue(), "half a document")
		Expect(MatchJSON(right()).Match(a.stdout)).To(BeTrue(), "another document")
	}
	return died
}

var _ = Describe("too little memory", func() {
	DescribeTable("is no output or all of it",
		func(limit string, kibibytes ...int) {
			ns, right := faultyPod()
			ends := map[int]end{}
			for _, k := range kibibytes {
				By(fmt.Sprintf("%d KiB", k))
				a := shell(fmt.Sprintf(`ulimit %s %d && exec "$0"`, limit, k)).run(environment("ADD", ns.Path), conf("0.3.1", "", calico))
				ends[k] = endOf(a, calico, func() string { return right })
			}
			Expect(ends).To(HaveKeyWithValue(kibibytes[0], died), "the limit is felt")
			Expect(ends).To(HaveKeyWithValue(kibibytes[len(kibibytes)-1], repaired))
		},
		Entry("of address space (RLIMIT_AS)", "-v", 8<<10, 16<<10, 32<<10, 64<<10, 128<<10, 256<<10, 512<<10, 1<<20, 2<<20, 4<<20),
		Entry("of data (RLIMIT_DATA)", "-d", 256, 1<<10, 4<<10, 16<<10, 64<<10, 128<<10, 256<<10, 1<<20),
	)

	It("in the middle of a large Result is no output either", func() {
		ns, _ := faultyPod()
		prev := large()
		env, stdin := environment("ADD", ns.Path), conf("0.3.1", "", prev)
		whole := start(env, stdin)
		Expect(whole.code).To(Equal(0))
		Expect(whole.stdout).To(ContainSubstring(podLink.MAC))
		right := func() string { return whole.stdout }
		under := func(kibibytes int, env map[string]string, stdin string) answer {
			return shell(fmt.Sprintf(`ulimit -d %d && exec "$0"`, kibibytes)).run(env, stdin)
		}

		// The least that starts at all, to 1 MiB.
		least, enough := 0, 1<<20
		for enough-least > 1<<10 {
			middle := (least + enough) / 2
			if under(middle, map[string]string{"CNI_COMMAND": "VERSION"}, "").code == 0 {
				enough = middle
			} else {
				least = middle
			}
		}
		ends := map[end]int{}
		for k := enough; ends[repaired] < 3; k += 2 << 10 {
			ends[endOf(under(k, env, stdin), prev, right)]++
		}
		AddReportEntry("data", fmt.Sprintf("starts from %d MiB on; a large Result then %v", enough>>10, ends))
		Expect(ends).To(And(HaveKey(died), HaveKey(repaired)), "the sweep goes across the limit")
	})
})
