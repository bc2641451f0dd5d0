// SPDX-License-Identifier: Apache-2.0

package explanation

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"unicode/utf8"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/enrich"
	"github.com/result-enricher/result-enricher/enrich/consumer"
	"github.com/result-enricher/result-enricher/internal/fieldcase"
	"github.com/result-enricher/result-enricher/internal/podns"
)

var _ = Describe("a case from the field", func() {
	cases, err := fieldcase.Load("../../../enrich/testdata/field-cases")

	It("is found", func() {
		Expect(err).NotTo(HaveOccurred())
		Expect(len(cases)).To(BeNumerically(">=", 23))
	})

	for _, c := range cases {
		It("is explained as the plugin repairs it: "+c.ID, func() {
			ns := newPod(c.Sandbox)
			c = c.In(ns.Path)
			config, err := json.Marshal(c.Config)
			Expect(err).NotTo(HaveOccurred())
			e, err := Explain(context.Background(), Subject{Call: c.Call(ns.Path), Network: "field", Result: c.PrevResult, Config: config})
			Expect(err).NotTo(HaveOccurred())
			Expect(e.After).To(MatchJSON(c.Want))
			Expect(e.Before).To(Equal(c.PrevResult))
			if changed(c) {
				Expect(e.Repairs).NotTo(BeEmpty())
			} else {
				Expect(e.Repairs).To(BeEmpty())
			}

			for _, v := range e.Consumers {
				Expect(wrong(*v.After)).To(BeNumerically("<=", wrong(v.Before)), "%s is worse off: %+v", v.Consumer, v)
			}
			for line := range strings.Lines(rendered(e)) {
				Expect(utf8.RuneCountInString(strings.TrimSuffix(line, "\n"))).To(BeNumerically("<=", 80), line)
			}
			Expect(json.Marshal(e)).NotTo(BeEmpty())
		})
	}
})

// changed reports whether the case wants another list of interfaces or other
// indices, or fewer entries: what a version is converted to is no repair.
func changed(c fieldcase.Case) bool {
	GinkgoHelper()
	type lists struct {
		Interfaces []any
		IPs        []*struct{ Interface *int }
		Routes     []any
	}
	var before, after lists
	Expect(json.Unmarshal(c.PrevResult, &before)).To(Succeed())
	Expect(json.Unmarshal(c.Want, &after)).To(Succeed())
	return !reflect.DeepEqual(before, after)
}

// subject is Calico's pod, in a namespace with an end on the host.
func subject(result, config string) (Subject, *podns.NS) {
	GinkgoHelper()
	ns := newPod(nil)
	pairWithHost(ns, "calie38e7158114", "169.254.1.1", "10.135.153.140/32")
	return Subject{
		Call:    enrich.Call{CNIVersion: "0.3.1", Netns: ns.Path, IfName: "eth0", ContainerID: "demo-pod"},
		Network: "k8s-pod-network", Result: []byte(result), Config: []byte(config),
	}, ns
}

const calico = `{"cniVersion":"0.3.1","interfaces":[{"name":"calie38e7158114"}],
	"ips":[{"version":"4","address":"10.135.153.140/32"}],"dns":{}}`

var _ = Describe("what a person sees", func() {
	It("tells the whole story of Calico's Result on one screen", func() {
		s, _ := subject(calico, `{}`)
		e, err := Explain(context.Background(), s)
		Expect(err).NotTo(HaveOccurred())
		golden, err := os.ReadFile(filepath.Join("testdata", "calico.txt"))
		Expect(err).NotTo(HaveOccurred())
		Expect(rendered(e)).To(Equal(strings.TrimSuffix(string(golden), "\n")))
		Expect(strings.Count(rendered(e), "\n")).To(BeNumerically("<", 50))
	})

	It("says that there is nothing to repair", func() {
		s, ns := subject("", `{}`)
		s.Result = []byte(`{"cniVersion":"0.3.1","interfaces":[{"name":"eth0","mac":"3a:dd:bc:ad:13:95","sandbox":"` + ns.Path +
			`"}],"ips":[{"version":"4","interface":0,"address":"10.135.153.140/32"}]}`)
		e, err := Explain(context.Background(), s)
		Expect(err).NotTo(HaveOccurred())
		Expect([]byte(e.After)).To(Equal(s.Result), "to the byte")
		Expect(rendered(e)).To(And(
			ContainSubstring("\nNothing to repair\n"), ContainSubstring("\nResult, before and after\n"),
			ContainSubstring("tc-redirect-tap copies 1"), HaveSuffix("\nFaults of the consumers: 0 before, 0 after.")))
	})

	It("shows a panic, and that ADD would fail under that policy", func() {
		s, _ := subject(`{"cniVersion":"0.3.1","interfaces":[{"name":"cali1"}],"ips":[{"version":"4","interface":1,"address":"10.135.153.140/32"}]}`,
			`{"failurePolicy":"fail"}`)
		s.IfName = "eth7"
		e, err := Explain(context.Background(), s)
		Expect(err).NotTo(HaveOccurred())
		Expect(e.Link).To(BeNil())
		Expect(e.After).To(BeNil())
		Expect(e.Failure.Code).To(Equal(uint(100)))
		Expect(e.Consumers[0].After).To(BeNil())
		Expect(rendered(e)).To(And(
			ContainSubstring("! /run/netns/pod has no link of that name"), ContainSubstring("ADD fails\n    code 100: no link of that name"),
			ContainSubstring("! PANIC: go-cni takes"), ContainSubstring("! gets no Result: ADD fails"),
			HaveSuffix("with it the pod does not start.")))
	})

	It("shows why a Result is left alone", func() {
		s, _ := subject(`{"cniVersion":"0.3.1","interfaces":[{"name":"eth0","mac":"2","sandbox":"/x"}]}`, `{}`)
		e, err := Explain(context.Background(), s)
		Expect(err).NotTo(HaveOccurred())
		Expect(rendered(e)).To(ContainSubstring("left alone: mac holds the upstream plugin's private data"))
	})

	It("gives a gateway, and the guest's argument, when the configuration asks for it", func() {
		s, ns := subject("", `{"gateways":true,"logFile":"/run/netns/log"}`)
		s.Result = []byte(strings.ReplaceAll(`{"cniVersion":"0.3.1","interfaces":[{"name":"eth0","mac":"3a:dd:bc:ad:13:95","sandbox":"NS"},
			{"name":"tap0","sandbox":"NS"},{"name":"tap0","mac":"3a:dd:bc:ad:13:95","sandbox":"demo-pod"}],
			"ips":[{"version":"4","interface":0,"address":"10.135.153.140/32"},
			       {"version":"4","interface":2,"address":"10.135.153.140/32"}]}`, "NS", ns.Path))
		e, err := Explain(context.Background(), s)
		Expect(err).NotTo(HaveOccurred())
		Expect(e.Repairs).To(ContainElement(HaveField("Rule", "R8")))
		Expect(rendered(e)).To(And(
			ContainSubstring(`R8 ips[0].gateway null -> "169.254.1.1"`),
			ContainSubstring("! the guest's gateway is the"), ContainSubstring("ip=10.135.153.140::<nil>")))
		Expect("/run/netns/log").NotTo(BeAnExistingFile(), "it changes nothing")
	})

	It("obeys no name", func() {
		s, _ := subject(`{"cniVersion":"0.3.1","interfaces":[{"name":"\u001b[31mx\u009b\u202e"}],"ips":[]}`, `{}`)
		s.Network = "a\x1b]0;b\x07"
		e, err := Explain(context.Background(), s)
		Expect(err).NotTo(HaveOccurred())
		Expect(rendered(e)).To(And(
			ContainSubstring(`{"name": "\u001b[31mx\u009b\u202e"}`), ContainSubstring(`network a\u001b]0;b\u0007`),
			Not(MatchRegexp(`[\x00-\x09\x0b-\x1f\x7f]|\x{9b}|\x{202e}`))))
	})
})

var _ = Describe("what cannot be explained", func() {
	explain := func(netns, result string) error {
		_, err := Explain(context.Background(), Subject{
			Call:   enrich.Call{CNIVersion: "1.0.0", Netns: netns, IfName: "eth0", ContainerID: "c-1"},
			Result: []byte(result), Config: []byte(`{}`),
		})
		return err
	}

	It("is what is no JSON", func() {
		Expect(explain("/run/netns/x", "{")).To(MatchError(ContainSubstring("not one JSON document")))
	})

	It("is a namespace that is not there, with what to do", func() {
		Expect(explain("/run/netns/gone", "{}")).To(MatchError(And(
			ContainSubstring("/run/netns/gone"), ContainSubstring("is the container running"))))
	})

	It("is the own namespace", func() {
		Expect(explain("/proc/self/ns/net", "{}")).To(MatchError(ContainSubstring("own network namespace")))
	})
})

var _ = It("says of a version without interfaces what to do", func() {
	s, _ := subject(`{"cniVersion":"0.2.0","ip4":{"ip":"10.135.153.140/32"}}`, `{}`)
	s.CNIVersion = "0.2.0"
	e, err := Explain(context.Background(), s)
	Expect(err).NotTo(HaveOccurred())
	Expect([]byte(e.After)).To(Equal(s.Result))
	Expect(e.LeftAlone).To(ContainSubstring("raise the conflist's cniVersion"))
	Expect(e.Consumers[0].Before.Outcome).To(Equal(consumer.OutcomeGood))
})
