// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/enrichctl/internal/conflist"
)

var _ = Describe("targets", func() {
	var m *machine
	BeforeEach(func() { m = newMachine() })

	const multus = `{"name":"multus","type":"multus","delegates":[]}`

	DescribeTable("gives the first file in libcni's order that is not multus's",
		func(files map[string]string, want string) {
			for name, content := range files {
				m.has(name, content)
			}
			paths, err := m.config.targets()
			Expect(err).NotTo(HaveOccurred())
			Expect(paths).To(Equal([]string{filepath.Join(m.conf, want)}))
		},
		Entry("one file", map[string]string{"10-calico.conflist": calico}, "10-calico.conflist"),
		Entry("multus in front", map[string]string{"00-multus.conf": multus, "10-calico.conflist": calico}, "10-calico.conflist"),
		Entry("the shim in front", map[string]string{"00-multus.conf": `{"type":"multus-shim"}`, "10-calico.conflist": calico}, "10-calico.conflist"),
		Entry("multus as a list", map[string]string{"00-m.conflist": `{"plugins":[{"type":"multus"}]}`, "10-calico.conflist": calico}, "10-calico.conflist"),
		Entry("strings, not numbers, are sorted", map[string]string{"9-b.conflist": calico, "10-a.conflist": calico, "100-c.conflist": calico}, "10-a.conflist"),
		Entry(".conf before .conflist of the same name", map[string]string{"10-a.conflist": calico, "10-a.conf": `{"type":"bridge"}`}, "10-a.conf"),
		Entry("a dot in front hides nothing", map[string]string{".10.conflist": calico, "10-a.conflist": calico}, ".10.conflist"),
		Entry("other extensions do not count", map[string]string{"00-a.conflist.bak": calico, "00-b.conflist.cilium_bak": calico, "10-a.conflist": calico}, "10-a.conflist"),
		Entry("a broken file is waited for", map[string]string{"05-a.conflist": "", "10-a.conflist": calico}, "05-a.conflist"),
		Entry("half a file too", map[string]string{"05-a.conflist": calico[:40], "10-a.conflist": calico}, "05-a.conflist"),
		Entry("and half of multus's", map[string]string{"00-multus.conf": multus[:20], "10-a.conflist": calico}, "00-multus.conf"),
	)

	It("does not look behind a file that cannot be read", func() {
		m.has("10-a.conflist", calico)
		Expect(os.Symlink("/nowhere/list", filepath.Join(m.conf, "05-a.conflist"))).To(Succeed())
		Expect(m.config.targets()).To(Equal([]string{filepath.Join(m.conf, "05-a.conflist")}))
	})

	It("are the named files and no others", func() {
		m.config.ConfFiles = []string{"/a", "/b"}
		Expect(m.config.targets()).To(Equal([]string{"/a", "/b"}))
	})

	DescribeTable("are none, for a reason",
		func(prepare func(), code string) {
			prepare()
			_, err := m.config.targets()
			var problem *Problem
			Expect(errors.As(err, &problem)).To(BeTrue())
			Expect(problem.Code).To(Equal(code))
			Expect(problem.Path).To(Equal(m.conf))
			Expect(problem.Cure).NotTo(BeEmpty())
		},
		Entry("in an empty directory", func() {}, CodeConflistMissing),
		Entry("beside multus alone", func() { m.has("00-multus.conf", multus) }, CodeConflistMissing),
		Entry("without the directory", func() { Expect(os.Remove(m.conf)).To(Succeed()) }, CodeConfDirMissing),
		Entry("where the directory is a file", func() {
			Expect(os.Remove(m.conf)).To(Succeed())
			m.write(filepath.Dir(m.conf), "net.d", "")
		}, CodeConfDirUnreadable),
	)

	DescribeTable("are not edited whatever they say",
		func(name, content, code string) {
			problem := problemWith("", "", editable(readConf(m.has(name, content))))
			Expect(problem.Code).To(Equal(code))
		},
		Entry("multus", "x.conflist", `{"plugins":[{"type":"multus"}]}`, CodeMultusFile),
		Entry(".conf", "x.conf", `{"type":"bridge"}`, conflist.CodeNotList),
		Entry(".json", "x.json", calico, conflist.CodeNotList),
	)
})
