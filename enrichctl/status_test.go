// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"encoding/json"
	"os"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("status", func() {
	var l *lab
	BeforeEach(func() {
		l = newLab()
		l.has("10-calico.conflist", calico)
	})

	type report struct {
		Ready       bool
		ConfFile    string
		RuntimeFile string
		Entry       map[string]any
		Binaries    []struct{ Path, Version string }
		Problems    []struct{ Code, Path, Message, Cure string }
	}
	parse := func(text string) report {
		GinkgoHelper()
		var r report
		Expect(json.Unmarshal([]byte(text), &r)).To(Succeed())
		return r
	}

	It("is good when the next pod gets a repaired Result", func() {
		l.runs(0, l.args("install")...)
		before := state(l)
		s := l.runs(0, l.args("status")...)
		Expect(stdout(s)).To(SatisfyAll(
			ContainSubstring("v1.2.3"), ContainSubstring("calico, portmap, result-enricher"),
			HaveSuffix("The next pod gets a repaired Result: result-enricher runs in "+l.list()+" with calico, portmap.\n"),
		))
		Expect(stderr(s)).To(BeEmpty())
		r := parse(stdout(l.runs(0, l.args("status", "-o", "json")...)))
		Expect(r.Ready).To(BeTrue())
		Expect(r.ConfFile).To(Equal(l.list()))
		Expect(r.RuntimeFile).To(Equal(l.list()))
		Expect(r.Entry).To(Equal(map[string]any{"type": "result-enricher"}))
		Expect(r.Binaries).To(HaveLen(1))
		Expect(r.Binaries[0].Path).To(Equal(l.plugin()))
		Expect(r.Binaries[0].Version).To(Equal("v1.2.3"))
		Expect(r.Problems).To(BeEmpty())
		l.runs(0, l.args("status", "--probe")...)
		Expect(state(l)).To(Equal(before))
	})

	It("fails otherwise, with what to do, in JSON too", func() {
		s := l.runs(1, l.args("status")...)
		Expect(stdout(s)).To(SatisfyAll(
			ContainSubstring("problem binary-missing "+l.plugin()), ContainSubstring("problem entry-missing "+l.list()),
			ContainSubstring("to do: run enrichctl install"),
		))
		r := parse(stdout(l.runs(1, l.args("status", "-o", "json")...)))
		Expect(r.Ready).To(BeFalse())
		Expect(r.Entry).To(BeNil())
		Expect(r.Problems).To(HaveLen(2))
		Expect(r.Problems[1].Code).To(Equal("entry-missing"))
		Expect(r.Problems[1].Path).To(Equal(l.list()))
		Expect(r.Problems[1].Cure).NotTo(BeEmpty())
		l.runs(1, l.args("status", "--probe")...)
	})

	It("finds a multus that uses an old copy, until it is restarted or reads the conflist", func() {
		l.runs(0, l.args("install")...)
		write := func(settings string) {
			l.has("00-multus.conf", `{"cniVersion":"1.0.0","name":"m","type":"multus",`+settings+`}`)
		}
		write(`"delegates":[` + calico + `]`)
		r := parse(stdout(l.runs(1, l.args("status", "-o", "json")...)))
		Expect(r.Problems).To(HaveLen(1))
		Expect(r.Problems[0].Code).To(Equal("multus-stale"))
		Expect(r.Problems[0].Cure).To(SatisfyAll(ContainSubstring("restart multus"), ContainSubstring("clusterNetwork"), ContainSubstring(l.list())))
		Expect(r.RuntimeFile).To(HaveSuffix("00-multus.conf"))
		l.runs(0, l.args("status", "--probe")...)
		write(`"delegates":[` + enriched + `]`)
		l.runs(0, l.args("status")...)
		write(`"clusterNetwork":"` + l.list() + `"`)
		l.runs(0, l.args("status")...)
	})

	It("looks where the runtime looks", func() {
		l.runs(0, l.args("install")...)
		elsewhere := GinkgoT().TempDir()
		Expect(os.WriteFile(elsewhere+"/00-multus.conf", []byte(`{"type":"multus","delegates":[`+calico+`]}`), 0o644)).To(Succeed())
		Expect(stdout(l.runs(1, l.args("status", "--runtime-conf-dir", elsewhere)...))).To(ContainSubstring("multus-stale"))
	})
})
