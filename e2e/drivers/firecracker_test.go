// SPDX-License-Identifier: Apache-2.0

package drivers

import (
	"encoding/json"
	"net"
	"strings"

	types100 "github.com/containernetworking/cni/pkg/types/100"
	"github.com/firecracker-microvm/firecracker-go-sdk/cni/vmconf"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// static has the fields of StaticNetworkConfiguration in firecracker-go-sdk v1.0.0, whose root package needs more modules
// than this one has, and of ours.
type static struct {
	MacAddress      string
	HostDevName     string
	IPConfiguration *struct {
		IPAddr      net.IPNet
		Gateway     net.IP
		Nameservers []string
		IfName      string
	}
	Netns          string
	MTU            int
	KernelArgument string
	Translated     *struct{ Address, Gateway string }
}

// vmConf is what the SDK makes of the Result of ADD.
func vmConf(result *types100.Result, id string) *vmconf.StaticNetworkConf {
	GinkgoHelper()
	conf, err := vmconf.StaticNetworkConfFrom(result, id)
	Expect(err).NotTo(HaveOccurred())
	return conf
}

func showStatic(id string) (static, []string) {
	GinkgoHelper()
	stdout, stderr, code := run("", "show", id, "-o", "firecracker")
	Expect(code).To(Equal(0), stderr)
	decoder := json.NewDecoder(strings.NewReader(stdout))
	decoder.DisallowUnknownFields()
	var s static
	Expect(decoder.Decode(&s)).To(Succeed(), stdout)
	return s, messages(stderr)
}

// expectAgreement compares everything but address, gateway and boot parameter.
func expectAgreement(ours static, theirs *vmconf.StaticNetworkConf) {
	GinkgoHelper()
	Expect(ours.HostDevName).To(Equal(theirs.TapName))
	Expect(ours.MacAddress).To(Equal(theirs.VMMacAddr))
	Expect(ours.Netns).To(Equal(theirs.NetNSPath))
	Expect(ours.MTU).To(Equal(theirs.VMMTU))
	Expect(ours.IPConfiguration.IfName).To(Equal(theirs.VMIfName))
	Expect(ours.IPConfiguration.Nameservers).To(HaveExactElements(theirs.VMNameservers))
}

// machines registers the specs where taps can be made.
func machines() {
	It("has of ptp what vmconf has", func() {
		ns := newPod("vm-1")
		theirs := vmConf(add(ns, "vm-1", conflist("fcnet", "1.0.0", ptp(GinkgoT().TempDir()), enricher, object{"type": "tap-maker"})), "vm-1")
		ours, notes := showStatic("vm-1")
		Expect(notes).To(BeEmpty())
		expectAgreement(ours, theirs)
		Expect(theirs.VMMTU).To(Equal(1400), "the tap's")
		Expect(ours.Translated).To(BeNil())
		Expect(ours.IPConfiguration.IPAddr.String()).To(Equal(theirs.VMIPConfig.Address.String()))
		Expect(ours.IPConfiguration.Gateway.Equal(theirs.VMIPConfig.Gateway)).To(BeTrue())
		Expect(ours.IPConfiguration.Gateway.String()).To(Equal("192.168.127.1"))
		Expect(ours.KernelArgument).To(Equal("ip=" + theirs.IPBootParam()))
	})

	It("has of Calico what vmconf has, but an address that the guest can use, and says so", func() {
		ns := newPod("vm-2")
		theirs := vmConf(add(ns, "vm-2", conflist("fcnet", "1.0.0", calicoShaped, enricher, object{"type": "tap-maker"})), "vm-2")
		ours, notes := showStatic("vm-2")
		expectAgreement(ours, theirs)
		Expect(theirs.VMIPConfig.Address.String()).To(Equal("10.135.153.140/32"))
		Expect(theirs.VMIPConfig.Gateway.String()).To(Equal("169.254.1.1"))
		Expect([]any{ours.Translated.Address, ours.Translated.Gateway}).To(Equal([]any{"10.135.153.140/32", "169.254.1.1"}))
		Expect(ours.IPConfiguration.IPAddr.IP.String()).To(Equal("10.135.153.140"))
		Expect(ours.IPConfiguration.IPAddr.Contains(ours.IPConfiguration.Gateway)).To(BeTrue(), "the gateway is on the subnet")
		Expect(notes).To(ConsistOf(And(
			HavePrefix("translated 10.135.153.140/32 with the gateway 169.254.1.1"), ContainSubstring("proxy_arp"))))

		stdout, _, _ := run("", "show", "vm-2", "-o", "firecracker")
		expectInReadme("show vm-2 -o firecracker", stdout, ours.MacAddress)
	})

	It("has one without the plugin too, where vmconf has none", func() {
		ns := newPod("vm-3")
		result := add(ns, "vm-3", conflist("fcnet", "1.0.0", calicoShaped, object{"type": "tap-maker"}))
		_, err := vmconf.StaticNetworkConfFrom(result, "vm-3")
		Expect(err).To(MatchError(ContainSubstring("expected to find 1 IP")))
		mac, _ := pod(ns)
		ours, _ := showStatic("vm-3")
		Expect([]any{ours.HostDevName, ours.MacAddress}).To(Equal([]any{"tap0", mac}))
		Expect(ours.Translated.Address).To(Equal("10.135.153.140/32"))
	})
}

var _ = Describe("the configuration of a Firecracker machine", func() {
	if mayMakeTaps() {
		machines()
	}

	It("says that a tap is missing, and has the rest", func() {
		ns := newPod("vm-4")
		add(ns, "vm-4", conflist("fcnet", "1.0.0", ptp(GinkgoT().TempDir()), enricher))
		ours, notes := showStatic("vm-4")
		Expect(notes).To(ConsistOf(ContainSubstring("HostDevName is empty")))
		mac, _ := pod(ns)
		Expect([]any{ours.HostDevName, ours.MacAddress, ours.MTU}).To(Equal([]any{"", mac, 1420}))
		Expect(ours.KernelArgument).To(MatchRegexp(`^ip=192\.168\.127\.\d+::192\.168\.127\.1:255\.255\.255\.0:::off:192\.0\.2\.53:192\.0\.2\.54:$`))
	})
})
