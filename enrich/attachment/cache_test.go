// SPDX-License-Identifier: Apache-2.0

package attachment

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

const (
	allocation = "f0b4ab5c-2f1c-4f1a-8c0e-4a4a6d0c3b1d"
	digest     = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	bare       = `{"cniVersion":"0.3.1","interfaces":[{"name":"cali1"},{"name":"eth-0","sandbox":"/n"}],"ips":[]}`
)

// file is a file of libcni of the container id.
func file(id string) string {
	return `{"kind":"cniCacheV1","containerId":"` + id + `","config":"e30=","ifName":"eth0","networkName":"a-net",` +
		`"netns":"/n","result":{"cniVersion":"1.0.0"}}`
}

var _ = DescribeTable("whose a file is", func(name, content, id, wantID, wantNetwork, wantInterface string) {
	r, err := parseFile("/cache/"+name, []byte(content), id)
	Expect(err).NotTo(HaveOccurred())
	Expect([]string{r.containerID, r.network, r.ifName}).To(Equal([]string{wantID, wantNetwork, wantInterface}))
},
	Entry("its content says", "x", file("c-1"), "c-1", "c-1", "a-net", "eth0"),
	Entry("its content says, for all", "x", file("c-1"), "", "c-1", "a-net", "eth0"),
	Entry("a bare Result's name says", "a-net-c-1-eth0", bare, "c-1", "c-1", "a-net", "eth0"),
	Entry("with an interface of the Result", "a-net-c-1-eth-0", bare, "c-1", "c-1", "a-net", "eth-0"),
	Entry("Nomad's, without asking for it", "a-net-"+allocation+"-eth0", bare, "", allocation, "a-net", "eth0"),
	Entry("containerd's, without asking for it", "a-net-"+digest+"-eth0", bare, "", digest, "a-net", "eth0"),
)

var _ = DescribeTable("a file that is another's", func(name, content, id string) {
	_, err := parseFile("/cache/"+name, []byte(content), id)
	Expect(err).To(MatchError(errForeign))
},
	Entry("though its name says otherwise", "a-net-c-1-eth0", file("c-2"), "c-1"),
	Entry("whose ID ends like this one", "a-net-"+allocation+"-eth0", bare, "4a4a6d0c3b1d"),
	Entry("whose interface would have a dash and is not in the Result", "a-net-c-1-eth0", bare, "c"),
	Entry("of another kind", "x", `{"kind":"cniCacheV9","containerId":"c-1"}`, "c-1"),
	Entry("multus's scratch", "c-1", `[{"Conf":{}}]`, "c-1"),
	Entry("a string", "c-1", `"x"`, "c-1"),
)

var _ = DescribeTable("a file that is broken", func(name, content string) {
	_, err := parseFile("/cache/"+name, []byte(content), "")
	Expect(err).To(HaveOccurred())
	Expect(err).NotTo(MatchError(errForeign))
},
	Entry("cut off", "x", file("c-1")[:40]),
	Entry("empty", "x", ""),
	Entry("without names", "x", `{"kind":"cniCacheV1","containerId":"c-1"}`),
	Entry("with a name that libcni would refuse", "x", strings.Replace(file("c-1"), "eth0", "a/b", 1)),
	Entry("with another path as ID", "x", file("../c-1")),
	Entry("a bare Result without a known ID", "a-net-c-1-eth0", bare),
)

var _ = Describe("a directory", func() {
	var dir string
	write := func(name, content string) {
		GinkgoHelper()
		Expect(os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600)).To(Succeed())
	}
	BeforeEach(func() { dir = GinkgoT().TempDir() })

	It("with broken and foreign files still has the good ones", func() {
		write("good", file("c-1"))
		write("other", file("c-2"))
		write("broken", "{")
		write("foreign", `{"a":1}`)
		Expect(os.Mkdir(filepath.Join(dir, "d"), 0o700)).To(Succeed())
		Expect(os.Symlink("/dev/zero", filepath.Join(dir, "link"))).To(Succeed())

		records, err := readCache([]string{dir}, "c-1")
		Expect(err).NotTo(HaveOccurred(), "the broken file is not known to be this container's")
		Expect(records).To(HaveLen(1))
		records, err = readCache([]string{dir}, "")
		Expect(err).To(MatchError(ErrUnreadable))
		Expect(err).To(MatchError(ContainSubstring(filepath.Join(dir, "broken"))))
		Expect(records).To(HaveLen(2))
	})

	It("is read once, however often it is named", func() {
		write("good", file("c-1"))
		link := filepath.Join(GinkgoT().TempDir(), "link")
		Expect(os.Symlink(dir, link)).To(Succeed())
		Expect(readCache([]string{dir, link, dir}, "c-1")).To(HaveLen(1))
	})

	It("that does not exist holds nothing", func() {
		_, err := Find(context.Background(), "c-1", WithCacheDirs(filepath.Join(dir, "none")))
		Expect(err).To(MatchError(ErrNotFound))
		Expect(err).To(MatchError(ContainSubstring(filepath.Join(dir, "none"))))
	})

	It("that is none is unreadable", func() {
		write("file", "")
		_, err := Find(context.Background(), "c-1", WithCacheDirs(filepath.Join(dir, "file")))
		Expect(err).To(MatchError(ErrUnreadable))
	})

	DescribeTable("with a file that has the container's name and does not decode", func(content string) {
		write("a-net-c-1-eth0", content)
		found, err := Find(context.Background(), "c-1", WithCacheDirs(dir))
		Expect(err).To(MatchError(ErrUnreadable))
		Expect(err).To(MatchError(ContainSubstring(filepath.Join(dir, "a-net-c-1-eth0"))))
		Expect(found).To(BeEmpty())
	},
		Entry("cut off", "{"),
		Entry("empty", ""),
		Entry("with a Result that is none", strings.Replace(file("c-1"), `{"cniVersion":"1.0.0"}`, `{"cniVersion":"1.0.0","ips":[{"address":"x"}]}`, 1)),
		Entry("with a Result of an unknown version", strings.Replace(file("c-1"), "1.0.0", "9.0.0", 1)),
	)

	It("has nothing for an empty ID", func() {
		write("good", file("c-1"))
		_, err := Find(context.Background(), "", WithCacheDirs(dir))
		Expect(err).To(MatchError(ErrNotFound))
	})
})

var _ = It("writes JSON in which what is unknown is absent", func() {
	document, err := json.Marshal(Attachment{ContainerID: "c-1", Network: "n", Interface: "eth0", Addresses: []Address{{}}})
	Expect(err).NotTo(HaveOccurred())
	Expect(string(document)).To(Equal(
		`{"containerID":"c-1","network":"n","interface":"eth0","addresses":[{"prefix":""}],"routes":null,"dns":{},"cniVersion":""}`))
})
