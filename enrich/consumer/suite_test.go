// SPDX-License-Identifier: Apache-2.0

package consumer_test

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/enrich/consumer"
)

func TestConsumer(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "consumer")
}

// recorded is the context of the recorded Results.
var recorded = consumer.Context{
	CNIVersion: "1.0.0", Network: "net", ContainerID: "vm-1", IfName: "eth0", Netns: "/var/run/netns/cni-1",
}

// fixture reads a recorded Result by the beginning of its name.
func fixture(name string) []byte {
	GinkgoHelper()
	files, err := filepath.Glob(filepath.Join("..", "testdata", "consumer-fixtures", name+"*.json"))
	Expect(err).NotTo(HaveOccurred())
	Expect(files).NotTo(BeEmpty(), name)
	raw, err := os.ReadFile(files[0])
	Expect(err).NotTo(HaveOccurred())
	return raw
}

// of gives the prediction for one consumer.
func of(name string, raw []byte) consumer.Prediction {
	GinkgoHelper()
	for _, p := range consumer.Predict(raw, recorded) {
		if p.Consumer == name {
			return p
		}
	}
	Fail("no prediction for " + name)
	return consumer.Prediction{}
}

// codes are the faults in short.
func codes(p consumer.Prediction) []string {
	codes := []string{}
	for _, f := range p.Faults {
		codes = append(codes, f.Code)
	}
	return codes
}
