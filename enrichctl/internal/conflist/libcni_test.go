// SPDX-License-Identifier: Apache-2.0

package conflist_test

import (
	"github.com/containernetworking/cni/libcni"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/enrichctl/internal/conflist"
)

// The package decodes lists by libcni's rules without importing it. This holds both against each other for every key
// of a plugin that libcni decodes; a key that a later libcni decodes too is for the fuzz targets to find.
var _ = DescribeTable("reading as libcni does",
	func(members string, accepted bool) {
		data := []byte(list(`[{"type":"a",` + members + `}]`))
		_, err := libcni.NetworkConfFromBytes(data)
		Expect(err == nil).To(Equal(accepted), "libcni: %v", err)
		_, err = conflist.Ensure(data, []byte(ours), supported)
		if accepted {
			Expect(err).NotTo(HaveOccurred())
		} else {
			Expect(code(err)).To(Equal(conflist.CodeUnreadable))
		}
		Expect(checkInspect(data)).To(Succeed())
	},
	Entry(nil, `"cniVersion":1`, false),
	Entry(nil, `"CNIVERSION":1`, false),
	Entry(nil, `"name":[]`, false),
	Entry(nil, `"name":null`, true),
	Entry(nil, `"capabilities":{"a":1}`, false),
	Entry(nil, `"capabilities":{"a":null}`, true),
	Entry(nil, `"capabilities":[]`, false),
	Entry(nil, `"ipam":"host-local"`, false),
	Entry(nil, `"ipam":{"type":{}}`, false),
	Entry(nil, `"ipam":{"ranges":7}`, true),
	Entry(nil, `"dns":[]`, false),
	Entry(nil, `"dns":{"nameservers":"10.96.0.10"}`, false),
	Entry(nil, `"dns":{"domain":1}`, false),
	Entry(nil, `"dns":{"search":[1]}`, false),
	Entry(nil, `"dns":{"options":{}}`, false),
	Entry(nil, `"dns":{"nameservers":[null],"other":1}`, true),
	Entry(nil, `"prevResult":[]`, false),
	Entry(nil, `"prevResult":{"ips":1}`, true),
	Entry(nil, `"cni.dev/valid-attachments":{}`, false),
	Entry(nil, `"cni.dev/valid-attachments":[{"containerID":1}]`, false),
	Entry(nil, `"cni.dev/valid-attachments":[{"ifname":1}]`, false),
	Entry(nil, `"cni.dev/valid-attachments":[{"containerID":"a","ifname":"b","x":1}]`, true),
	Entry(nil, `"runtimeConfig":7`, true),
)
