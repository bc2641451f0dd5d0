// SPDX-License-Identifier: Apache-2.0

package binary_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/containernetworking/cni/pkg/version"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/enrichctl/internal/binary"
)

var _ = Describe("the plugin's binary", func() {
	var dir, source string
	ctx := context.Background()

	open := func() *binary.Source {
		GinkgoHelper()
		s, err := binary.Open(ctx, source)
		Expect(err).NotTo(HaveOccurred())
		return s
	}
	install := func() bool {
		GinkgoHelper()
		changed, err := open().Install(ctx, dir)
		Expect(err).NotTo(HaveOccurred())
		return changed
	}
	state := func(s *binary.Source) binary.State {
		GinkgoHelper()
		state, err := s.Check(dir)
		Expect(err).NotTo(HaveOccurred())
		return state
	}
	BeforeEach(func() {
		dir = GinkgoT().TempDir()
		source = filepath.Join(GinkgoT().TempDir(), "source")
		script(source, answer, 0)
	})

	It("is copied, executable for all, and skipped when it is there", func() {
		Expect(os.Chmod(source, 0o700)).To(Succeed())
		Expect(install()).To(BeTrue())
		info, err := os.Stat(inDir(dir))
		Expect(err).NotTo(HaveOccurred())
		Expect(info.Mode().Perm()).To(Equal(os.FileMode(0o755)))
		Expect(install()).To(BeFalse())
		again, err := os.Stat(inDir(dir))
		Expect(err).NotTo(HaveOccurred())
		Expect(os.SameFile(info, again)).To(BeTrue())
	})

	It("is replaced when it is another one, or cannot be run", func() {
		Expect(install()).To(BeTrue())
		Expect(os.Chmod(inDir(dir), 0o644)).To(Succeed())
		Expect(state(open())).To(Equal(binary.Different))
		Expect(install()).To(BeTrue())
		script(inDir(dir), `{"cniVersion":"1.0.0","supportedVersions":["0.4.0"]}`, 0)
		Expect(state(open())).To(Equal(binary.Different))
		Expect(install()).To(BeTrue())
		Expect(state(open())).To(Equal(binary.Equal))
		entries, err := os.ReadDir(dir)
		Expect(err).NotTo(HaveOccurred())
		Expect(entries).To(HaveLen(1))
	})

	It("is replaced while it runs", func() {
		sleeper, err := exec.LookPath("sleep")
		Expect(err).NotTo(HaveOccurred())
		program, err := os.ReadFile(sleeper)
		Expect(err).NotTo(HaveOccurred())
		Expect(os.WriteFile(inDir(dir), program, 0o755)).To(Succeed())
		running := exec.Command(inDir(dir), "60")
		Expect(running.Start()).To(Succeed())
		DeferCleanup(func() {
			Expect(running.Process.Kill()).To(Succeed())
			Expect(running.Wait()).NotTo(Succeed())
		})
		_, err = os.OpenFile(inDir(dir), os.O_WRONLY, 0)
		Expect(err).To(MatchError(ContainSubstring("text file busy")))
		Expect(install()).To(BeTrue())
		Expect(binary.Supported(ctx, inDir(dir))).To(Equal([]string{"0.3.1", "1.0.0"}))
	})

	It("is waited for while somebody holds it open for writing", func() {
		writer, err := os.OpenFile(source, os.O_WRONLY, 0)
		Expect(err).NotTo(HaveOccurred())
		answered := make(chan []string, 1)
		go func() {
			defer GinkgoRecover()
			versions, err := binary.Supported(ctx, source)
			Expect(err).NotTo(HaveOccurred())
			answered <- versions
		}()
		Consistently(answered, "60ms").ShouldNot(Receive())
		Expect(writer.Close()).To(Succeed())
		Eventually(answered).Should(Receive(Equal([]string{"0.3.1", "1.0.0"})))
	})

	It("is seen to go", func() {
		s := open()
		Expect(install()).To(BeTrue())
		Expect(state(s)).To(Equal(binary.Equal))
		Expect(os.Remove(inDir(dir))).To(Succeed())
		Expect(state(s)).To(Equal(binary.Missing))
	})

	It("is not installed when it does not answer, and what was there stays", func() {
		Expect(install()).To(BeTrue())
		s := open()
		script(source, answer, 3) // other bytes than those that were opened
		Expect(os.Remove(inDir(dir))).To(Succeed())
		_, err := s.Install(ctx, dir)
		Expect(err).To(MatchError(ContainSubstring("has changed since it was checked")))
		entries, err := os.ReadDir(dir)
		Expect(err).NotTo(HaveOccurred())
		Expect(entries).To(BeEmpty())
	})

	DescribeTable("is refused as a source, with the reason",
		func(spoil func(), reason string) {
			spoil()
			_, err := binary.Open(ctx, source)
			Expect(err).To(MatchError(ContainSubstring(reason)))
		},
		Entry("that is not there", func() { Expect(os.Remove(source)).To(Succeed()) }, "--plugin-binary"),
		Entry("that fails", func() { script(source, answer, 3) }, `it said: "noise"`),
		Entry("that answers something else", func() { script(source, "hello", 0) }, "VERSION"),
		Entry("that is for no machine", func() { Expect(os.WriteFile(source, []byte("\x7fELF"), 0o755)).To(Succeed()) }, "exec format error"),
	)

	It("is missing from a directory, and a directory that is missing is an error", func() {
		Expect(state(open())).To(Equal(binary.Missing))
		_, err := open().Check(filepath.Join(dir, "none"))
		Expect(err).To(MatchError(os.ErrNotExist))
		_, err = open().Install(ctx, filepath.Join(dir, "none"))
		Expect(err).To(MatchError(os.ErrNotExist))
		Expect(filepath.Join(dir, "none")).NotTo(BeADirectory())
	})

	It("is removed once, and again", func() {
		Expect(install()).To(BeTrue())
		Expect(binary.Remove(ctx, dir)).To(BeTrue())
		Expect(inDir(dir)).NotTo(BeAnExistingFile())
		Expect(binary.Remove(ctx, dir)).To(BeFalse())
	})

	It("says what it is", func() {
		source = built
		Expect(binary.Inspect(ctx, dir)).To(Equal(binary.Installed{Path: inDir(dir)}))
		Expect(install()).To(BeTrue())
		i := binary.Inspect(ctx, dir)
		Expect(i.Version).To(Equal("v1.2.3"))
		Expect(i.CNIVersions).To(Equal(version.All.SupportedVersions()))
		Expect(i.SHA256).To(HaveLen(64))
		Expect(i.Error).To(BeEmpty())
	})

	It("says why it does not run, and is not blamed for not knowing its version", func() {
		script(inDir(dir), "", 1)
		Expect(binary.Inspect(ctx, dir).Error).To(ContainSubstring("exit status 1"))
		script(inDir(dir), answer, 0)
		i := binary.Inspect(ctx, dir)
		Expect(i.Version).To(Equal("unknown"))
		Expect(i.Error).To(BeEmpty())
	})

	It("finds other plugins by their type, dangling links too", func() {
		dirs := []string{filepath.Join(dir, "none"), dir}
		Expect(binary.FindType(dirs, "calico")).To(BeFalse())
		Expect(os.Symlink("/opt/elsewhere/calico", filepath.Join(dir, "calico"))).To(Succeed())
		Expect(binary.FindType(dirs, "calico")).To(BeTrue())
	})
})
