// SPDX-License-Identifier: Apache-2.0

package drivers

import (
	"context"
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"

	gocni "github.com/containerd/go-cni"
	"github.com/containernetworking/cni/pkg/types"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/enrich/attachment"
	"github.com/result-enricher/result-enricher/enrich/consumer"
	"github.com/result-enricher/result-enricher/internal/podns"
)

// allocID is what Nomad calls an allocation, and gives go-cni for the container's ID.
const allocID = "f0b4ab5c-2f1c-4f1a-8c0e-4a4a6d0c3b1d"

// setup attaches an allocation as Nomad does (client/allocrunner/networking_cni.go): go-cni with the interface prefix eth and
// the conflist of network { mode = "cni/NAME" }, once per agent, and the default cache of libcni.
func setup(ns *podns.NS, list []byte) (gocni.CNI, *gocni.Result) {
	GinkgoHelper()
	nomad, err := gocni.New(gocni.WithPluginDir([]string{binDir}), gocni.WithInterfacePrefix("eth"))
	Expect(err).NotTo(HaveOccurred())
	Expect(nomad.Load(gocni.WithConfListBytes(list))).To(Succeed())
	ports := gocni.WithCapabilityPortMap(nil)
	result, err := nomad.Setup(context.Background(), allocID, ns.Path, ports)
	Expect(err).NotTo(HaveOccurred())
	return nomad, result
}

// teardown is Nomad's at the end of the allocation.
func teardown(nomad gocni.CNI, ns *podns.NS) {
	GinkgoHelper()
	Expect(nomad.Remove(context.Background(), allocID, ns.Path, gocni.WithCapabilityPortMap(nil))).To(Succeed())
}

var _ = Describe("a Nomad task driver that has the allocation's ID only", func() {
	It("gets all of a Calico attachment", func() {
		ns := newPod(allocID)
		nomad, result := setup(ns, conflist("calico", "1.0.0", calicoShaped, enricher))
		DeferCleanup(teardown, nomad, ns)
		mac, hostDevice := pod(ns)

		found, err := attachment.One(context.Background(), allocID)
		Expect(err).NotTo(HaveOccurred())
		Expect(found.MAC).To(Equal(mac))
		Expect(found.HostDevice).To(Equal(hostDevice))
		Expect(found.HostDevice).To(HavePrefix("cali"))
		Expect([]any{found.Network, found.Interface, found.Kind, found.MTU, found.Netns}).To(Equal(
			[]any{"calico", "eth0", "veth", 1450, ns.Path}))
		address, ok := found.IPv4()
		Expect(ok).To(BeTrue())
		Expect(address).To(Equal(attachment.Address{
			Prefix: netip.MustParsePrefix("10.135.153.140/32"), Gateway: netip.MustParseAddr("169.254.1.1"),
		}))

		By("and Nomad's own choice is as predicted")
		Expect(result.Interfaces).To(HaveKeyWithValue("eth0", HaveField("Mac", mac)))
		predictions := consumer.Predict(found.Result, consumer.Context{
			CNIVersion: found.CNIVersion, Network: "calico", ContainerID: allocID, IfName: "eth0", Netns: ns.Path,
		})
		Expect(predictions[3].View).To(Equal(consumer.Nomad{Interface: "eth0", Address: "10.135.153.140"}))
		Expect(predictions[3].Faults).To(BeEmpty())
	})

	It("gets all of a ptp attachment, with its DNS, whether or not the plugin was in the chain", func() {
		ns := newPod(allocID)
		leases := GinkgoT().TempDir()
		for _, plugins := range [][]object{{ptp(leases), enricher}, {ptp(leases)}} {
			nomad, _ := setup(ns, conflist("pair", "1.0.0", plugins...))
			mac, hostDevice := pod(ns)
			found, err := attachment.One(context.Background(), allocID)
			Expect(err).NotTo(HaveOccurred())
			Expect([]any{found.MAC, found.HostDevice, found.Interface, found.MTU}).To(Equal([]any{mac, hostDevice, "eth0", 1420}))
			address, _ := found.IPv4()
			Expect(address.Prefix.Masked()).To(Equal(netip.MustParsePrefix("192.168.127.0/24")))
			Expect(address.Gateway).To(Equal(netip.MustParseAddr("192.168.127.1")))
			Expect(found.Routes).To(Equal([]attachment.Route{{Destination: netip.MustParsePrefix("0.0.0.0/0")}}), "as ptp says it")
			Expect(found.DNS).To(Equal(types.DNS{Nameservers: []string{"192.0.2.53", "192.0.2.54"}, Domain: "example"}))
			teardown(nomad, ns)
		}
	})

	It("gets it from libcni's cache only while it is attached", func() {
		ns := newPod(allocID)
		nomad, _ := setup(ns, conflist("calico", "0.3.1", calicoShaped, enricher))
		_, err := attachment.One(context.Background(), allocID)
		Expect(err).NotTo(HaveOccurred())
		teardown(nomad, ns)
		_, err = attachment.One(context.Background(), allocID)
		Expect(err).To(MatchError(attachment.ErrNotFound))
	})

	It("gets the same from enrichctl, and as the README shows it", func() {
		ns := newPod(allocID)
		nomad, _ := setup(ns, conflist("calico", "1.0.0", calicoShaped, enricher))
		DeferCleanup(teardown, nomad, ns)
		found, err := attachment.One(context.Background(), allocID)
		Expect(err).NotTo(HaveOccurred())

		stdout, stderr, code := run("", "show", allocID, "-o", "json")
		Expect(code).To(Equal(0), stderr)
		Expect(stderr).To(BeEmpty())
		want, err := json.Marshal([]attachment.Attachment{found})
		Expect(err).NotTo(HaveOccurred())
		Expect(stdout).To(MatchJSON(want))

		stdout, _, code = run("", "show")
		Expect(code).To(Equal(0))
		Expect(stdout).To(MatchRegexp(`(?m)^f0b4ab5c-2f1c +calico +eth0 +` + found.MAC + ` +1450 +` + found.HostDevice + ` +10\.135\.153\.140/32$`))

		stdout, _, code = run("", "show", allocID[:8])
		Expect(code).To(Equal(0))
		expectInReadme("show f0b4ab5c", stdout, found.MAC)
	})

	It("is told where it was looked for, and which file cannot be read", func() {
		cache := filepath.Join(GinkgoT().TempDir(), "results")
		_, stderr, code := run("", "show", allocID, "--cache-dir", cache)
		Expect(code).To(Equal(1))
		Expect(stderr).To(And(ContainSubstring("no attachment is cached"), ContainSubstring(cache)))
		Expect(cache).NotTo(BeADirectory(), "looking makes nothing")

		Expect(os.Mkdir(cache, 0o700)).To(Succeed())
		file := filepath.Join(cache, "calico-"+allocID+"-eth0")
		Expect(os.WriteFile(file, []byte("{"), 0o600)).To(Succeed())
		_, stderr, code = run("", "show", allocID, "--cache-dir", cache)
		Expect(code).To(Equal(1))
		Expect(stderr).To(ContainSubstring("cached attachment cannot be read: " + file))
	})
})
