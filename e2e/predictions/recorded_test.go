// SPDX-License-Identifier: Apache-2.0

package predictions

import (
	"bytes"
	"encoding/json"
	"math/rand"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vishvananda/netlink"

	"github.com/result-enricher/result-enricher/enrich/consumer"
	"github.com/result-enricher/result-enricher/internal/podns"
)

// netns is the path in the recorded Results.
const netns = "/var/run/netns/cni-1"

// testdata is in the main module, beside this one.
var testdata = filepath.Join("..", "..", "enrich", "testdata")

// sample is a Result with what the consumers know beside it.
type sample struct {
	name string
	raw  []byte
	consumer.Context
}

// samples are all recorded Results: the fixtures, and of every case from the field what comes and what must come out.
func samples() ([]sample, error) {
	var all []sample
	files, err := filepath.Glob(filepath.Join(testdata, "*", "*.json"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		raw = bytes.ReplaceAll(raw, []byte("$NETNS"), []byte(netns))
		c := consumer.Context{CNIVersion: "1.0.0", Network: "net", ContainerID: "vm-1", IfName: "eth0", Netns: netns}
		if filepath.Base(filepath.Dir(file)) != "field-cases" {
			all = append(all, sample{filepath.Base(file), raw, c})
			continue
		}
		var field struct {
			CNIVersion, IfName, ContainerID string
			PrevResult, Want                json.RawMessage
		}
		if err := json.Unmarshal(raw, &field); err != nil {
			return nil, err
		}
		c.CNIVersion, c.ContainerID = field.CNIVersion, field.ContainerID
		all = append(all,
			sample{filepath.Base(file) + " before", field.PrevResult, c},
			sample{filepath.Base(file) + " after", field.Want, c})
	}
	return all, nil
}

var _ = Describe("a recorded Result", Ordered, func() {
	var all []sample

	BeforeAll(func() {
		var err error
		all, err = samples()
		Expect(err).NotTo(HaveOccurred())
		Expect(len(all)).To(BeNumerically(">=", 84), "38 fixtures, and two for each of 23 cases")

		ns, err := podns.New(netns)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(ns.Close)
		// vmconf looks it up by name and reads its MTU; a veth will do, and needs no device of root's.
		Expect(ns.Netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "tap0"}, PeerName: "tap1"})).To(Succeed())
	})

	// counted counts how consumers ended, so that a test in which nothing is compared cannot pass.
	counted := func(compare func(sample) outcome) map[string]int {
		GinkgoHelper()
		ends := map[string]int{}
		for _, s := range all {
			ends[compare(s).How]++
		}
		return ends
	}

	It("is go-cni's as predicted", func() {
		ends := counted(func(s sample) outcome {
			GinkgoHelper()
			theirs := realContainerd(s.raw, s.Context)
			Expect(predicted(s.raw, s.Context, consumer.NameContainerd)).To(Equal(theirs), s.name)
			return theirs
		})
		Expect(ends).To(And(HaveKey("good"), HaveKey("panic")))
		GinkgoWriter.Println(ends)
	})

	It("is the network-status code's as predicted, for the default network and for others", func() {
		for _, secondary := range []bool{false, true} {
			ends := counted(func(s sample) outcome {
				GinkgoHelper()
				s.Secondary = secondary
				theirs := realMultus(s.raw, s.Context)
				Expect(predicted(s.raw, s.Context, consumer.NameMultus)).To(Equal(theirs), s.name)
				return theirs
			})
			Expect(ends).To(And(HaveKey("good"), HaveKey("panic")))
			GinkgoWriter.Println(ends)
		}
	})

	It("is vmconf's as predicted", func() {
		ends := counted(func(s sample) outcome {
			GinkgoHelper()
			theirs, missing := realFirecracker(s.raw, s.Context)
			Expect(missing).To(BeFalse(), "%s: the tap must be there, so that the value is compared", s.name)
			Expect(predicted(s.raw, s.Context, consumer.NameFirecracker)).To(Equal(theirs), s.name)
			return theirs
		})
		Expect(ends).To(And(HaveKey("good"), HaveKey("error"), HaveKey("panic")))
		GinkgoWriter.Println(ends)
	})
})

var _ = It("is as predicted for Results that are built at random", func() {
	random := rand.New(rand.NewSource(GinkgoRandomSeed()))
	ends := map[string]int{}
	for range 10000 {
		shape := make([]byte, 64)
		random.Read(shape)
		c := consumer.Context{
			CNIVersion: "1.0.0", Network: "net", ContainerID: "vm-1", IfName: "eth0", Netns: netns, Secondary: shape[0]%2 == 0,
		}
		raw := built(shape, c.CNIVersion)
		Expect(difference(raw, c)).To(Succeed())
		for _, p := range consumer.Predict(raw, c) {
			ends[p.Consumer+" "+p.Outcome]++
		}
	}
	GinkgoWriter.Println(ends)
	for _, name := range consumer.Names() {
		Expect(ends).To(And(HaveKey(name+" good"), HaveKey(name+" panic")))
	}
})
