// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/internal/fieldcase"
	"github.com/result-enricher/result-enricher/internal/podns"
)

// outcome is how an ADD ends under both policies: in the Result, or in
// prevResult and a CNI error.
type outcome struct {
	right  string
	reason string
	code   int
}

// trial is an ADD with decisions about its calls, once for each policy.
type trial struct {
	prev           string
	ignore, failed *supervisor
}

func try(netns, keys, prev string, decide func() func(c *trapped) verdict) trial {
	GinkgoHelper()
	return trial{prev, tryUnder("ignore", netns, keys, prev, decide()), tryUnder("fail", netns, keys, prev, decide())}
}

func tryUnder(policy, netns, keys, prev string, decide func(c *trapped) verdict) *supervisor {
	GinkgoHelper()
	if keys != "" {
		keys += ","
	}
	return supervise(environment("ADD", netns), conf("0.3.1", keys+`"failurePolicy":"`+policy+`"`, prev), decide)
}

func (t trial) endsIn(want outcome) {
	GinkgoHelper()
	t.ignored(want)
	t.underFail(want)
}

func (t trial) ignored(want outcome) {
	GinkgoHelper()
	a := t.ignore.wait()
	if want.right != "" {
		Expect(a.kept(t.prev, want.right)).To(Equal(repaired), a.stderr)
		return
	}
	Expect(a.stdout).To(Equal(t.prev))
	Expect(a.kept(t.prev, t.prev)).To(Equal(handedOn))
	Expect(records(a.stderr)).To(HaveExactElements(HaveField("Reason", ContainSubstring(want.reason))))
}

func (t trial) underFail(want outcome) {
	GinkgoHelper()
	a := t.failed.wait()
	if want.right != "" {
		Expect(a.keptUnderFail(want.right)).To(Equal(repaired), a.stdout)
		return
	}
	e := a.cniError()
	Expect(e.Code).To(BeEquivalentTo(want.code), e.Details)
	Expect(e.Details).To(ContainSubstring(want.reason))
	Expect(a.stderr).To(BeEmpty(), "an error that is returned is not logged")
}

// always is a decision without a memory.
func always(decide func(c *trapped) verdict) func() func(c *trapped) verdict {
	return func() func(c *trapped) verdict { return decide }
}

// behind decides about the first receive behind a request, by its number.
func behind(request int, decide func(c *trapped) verdict) func(c *trapped) verdict {
	return func(c *trapped) verdict {
		if c.name == "recvfrom" && c.request == request && c.receive == 1 {
			return decide(c)
		}
		return verdict{}
	}
}

// A pod of which everything can be asked, and a Result without the pod link's
// entry. With "gateways" ADD asks for the link, its addresses, and the routes of
// both families.
const (
	gateway       = "169.254.1.1"
	wantsGateways = `"gateways":true`
)

// routed gives a link an address and a default route.
func routed(ns *podns.NS, name, address, via string) {
	GinkgoHelper()
	link := linkOf(ns, name)
	addAddress(ns, link, address)
	must(ns.Netlink.RouteAdd(onLink(link, via+"/32", "")))
	must(ns.Netlink.RouteAdd(onLink(link, "0.0.0.0/0", via)))
}

// seamPath is where the pods of these specs are.
const seamPath = "/run/netns/cni-seam"

// barePod has links without an address. They are bridges, which are made in no
// time, and without a carrier, so that no address comes of itself.
func barePod() *podns.NS {
	GinkgoHelper()
	ns := newPod(filepath.Base(seamPath), nil, nil)
	for _, link := range []fieldcase.Link{podLink, secondLink} {
		bridge(ns, link.Name)
		configure(ns, link)
	}
	return ns
}

func routedPod() *podns.NS {
	GinkgoHelper()
	ns := barePod()
	routed(ns, "eth0", "192.0.2.10/32", gateway)
	return ns
}

// calicoRepaired is the repaired form of calico, with a gateway where one is known.
func calicoRepaired(netns, mac, gateway string) string {
	more := ""
	if gateway != "" {
		more = `,"gateway":"` + gateway + `"`
	}
	return `{"cniVersion":"0.3.1","interfaces":[{"name":"cali0"},{"name":"eth0","mac":"` + mac + `","sandbox":"` + netns + `"}],
		"ips":[{"version":"4","address":"192.0.2.10/32","interface":1` + more + `}],"dns":{}}`
}

// twoLinks is a Result that lacks the macs of eth0 and net1, and given them.
func twoLinks(netns string, macs ...string) string {
	said := []string{"", ""}
	for i, mac := range macs {
		said[i] = `,"mac":"` + mac + `"`
	}
	entries := []string{`{"name":"cali0"}`, `{"name":"eth0"` + said[0] + `,"sandbox":"` + netns + `"}`, `{"name":"net1"` + said[1] + `,"sandbox":"` + netns + `"}`}
	return `{"cniVersion":"0.3.1", "interfaces":[` + strings.Join(entries, ",") + `],"ips":[{"version":"4","address":"192.0.2.10/32","interface":1}],"dns":{} }`
}
