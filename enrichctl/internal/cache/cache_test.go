// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/invoke"
	"github.com/containernetworking/cni/pkg/version"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/enrichctl/internal/cache"
)

const (
	with    = `{"name":"pods","cniVersion":"1.0.0","plugins":[{"type":"calico"},{"type":"result-enricher"}]}`
	without = `{"name":"pods","cniVersion":"1.0.0","plugins":[{"type":"calico"},{"type":"portmap"}]}`
)

// noPlugins answers in the place of plugins.
type noPlugins struct{ *version.PluginDecoder }

func (noPlugins) ExecPlugin(context.Context, string, []byte, []string) ([]byte, error) {
	return []byte(`{"cniVersion":"1.0.0"}`), nil
}
func (noPlugins) FindInPath(plugin string, _ []string) (string, error) { return plugin, nil }

var _ invoke.Exec = noPlugins{}

// add has libcni itself fill the cache.
func add(dir, list, container, netns string) {
	GinkgoHelper()
	conf, err := libcni.NetworkConfFromBytes([]byte(list))
	Expect(err).NotTo(HaveOccurred())
	result, err := libcni.NewCNIConfigWithCacheDir(nil, dir, noPlugins{&version.PluginDecoder{}}).AddNetworkList(context.Background(), conf,
		&libcni.RuntimeConf{ContainerID: container, NetNS: netns, IfName: "eth0"})
	Expect(err).NotTo(HaveOccurred())
	Expect(result).NotTo(BeNil())
}

// scratch writes what multus keeps: delegates with their configuration as base64.
func scratch(dir, container, list string) {
	GinkgoHelper()
	content := fmt.Sprintf(`[{"Conf":{"name":"pods"},"ConfList":{"name":"pods"},"Name":"","Bytes":%q}]`,
		base64.StdEncoding.EncodeToString([]byte(list)))
	Expect(os.WriteFile(filepath.Join(dir, container), []byte(content), 0o600)).To(Succeed())
}

var _ = Describe("Read", func() {
	var dir string
	BeforeEach(func() { dir = GinkgoT().TempDir() })

	only := func(dirs ...string) cache.Attachment {
		GinkgoHelper()
		all, err := cache.Read(dirs)
		Expect(err).NotTo(HaveOccurred())
		Expect(all).To(HaveLen(1))
		return all[0]
	}

	It("finds the plugin in what libcni cached", func() {
		add(dir, with, "pod-1", "/proc/self/ns/net")
		a := only(dir)
		Expect(a).To(Equal(cache.Attachment{
			Path: filepath.Join(dir, "results", "pods-pod-1-eth0"), Container: "pod-1", Network: "pods", Interface: "eth0",
			Netns: "/proc/self/ns/net", Needs: true, Plugins: []string{"calico", "result-enricher"},
		}))
		Expect(a.Live()).To(BeTrue())
	})

	It("tells a configuration without the plugin, and a container that is gone", func() {
		add(dir, without, "pod-2", filepath.Join(GinkgoT().TempDir(), "gone"))
		a := only(filepath.Join(dir, "results"))
		Expect(a.Needs).To(BeFalse())
		Expect(a.Plugins).To(Equal([]string{"calico", "portmap"}))
		Expect(a.Live()).To(BeFalse())
	})

	It("takes a container for living where the directory of its namespace cannot be seen, as in a pod", func() {
		add(dir, without, "pod-2", filepath.Join(GinkgoT().TempDir(), "not-mounted", "cni-1"))
		Expect(only(filepath.Join(dir, "results")).Live()).To(BeTrue())
	})

	It("finds the plugin in the copy inside a multus configuration", func() {
		add(dir, `{"name":"multus","cniVersion":"1.0.0","plugins":[{"type":"multus","delegates":[`+with+`]}]}`, "pod-3", "")
		Expect(only(dir).Needs).To(BeTrue())
	})

	It("finds the plugin in multus's scratch, whose files are called after the container", func() {
		scratch(dir, "pod-4", with)
		a := only(dir)
		Expect(a.Container).To(Equal("pod-4"))
		Expect(a.Needs).To(BeTrue())
	})

	It("finds nothing in a scratch without it", func() {
		scratch(dir, "pod-5", without)
		Expect(only(dir).Needs).To(BeFalse())
	})

	It("is not misled by the name where it is no type", func() {
		add(dir, `{"name":"result-enricher","cniVersion":"1.0.0","plugins":[{"type":"calico","note":"result-enricher"}]}`, "result-enricher", "")
		Expect(only(dir).Needs).To(BeFalse())
	})

	DescribeTable("finds the name in a file that is cut off",
		func(shift int) {
			list := fmt.Sprintf(`{"name":%q,"plugins":[{"type":"result-enricher"},{"type":"x"}]}`, "pods"[:shift])
			content := fmt.Sprintf(`{"kind":"cniCacheV1","config":"%s`, base64.StdEncoding.EncodeToString([]byte(list)))
			Expect(os.WriteFile(filepath.Join(dir, "pod"), []byte(content), 0o600)).To(Succeed())
			Expect(only(dir).Needs).To(BeTrue())
		},
		Entry(nil, 1), Entry(nil, 2), Entry(nil, 3),
	)

	It("takes a directory that is not there for an empty one, and reads none twice", func() {
		add(dir, with, "pod-6", "")
		only(dir, filepath.Join(dir, "results"), filepath.Join(dir, "none"))
	})

	It("says what it cannot read, and gives the rest", func() {
		add(dir, with, "pod-7", "")
		file := filepath.Join(dir, "results", "huge")
		Expect(os.WriteFile(file, nil, 0o600)).To(Succeed())
		Expect(os.Truncate(file, 17<<20)).To(Succeed())
		all, err := cache.Read([]string{dir})
		Expect(err).To(MatchError(ContainSubstring(file)))
		Expect(all).To(HaveLen(1))
	})
})
