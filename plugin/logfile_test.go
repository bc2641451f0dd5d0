// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"
)

var _ = Describe("logFile", func() {
	var dir, file string

	BeforeEach(func() {
		dir = GinkgoT().TempDir()
		file = filepath.Join(dir, "log")
	})

	// add is an ADD that has something to say: its sandbox is gone.
	add := func(logFile string) answer {
		GinkgoHelper()
		a := start(environment("ADD", "/run/netns/gone"), conf("0.3.1", `"logFile":"`+logFile+`"`, calico))
		Expect(a.code).To(Equal(0))
		Expect(a.stdout).To(Equal(calico))
		return a
	}
	read := func(path string) string {
		GinkgoHelper()
		content, err := os.ReadFile(path)
		Expect(err).NotTo(HaveOccurred())
		return string(content)
	}
	const old = "what was there\n"

	DescribeTable("is left out with one warning when it is no regular file, and nothing is written",
		func(occupy func() (path string)) {
			path := occupy()
			a := add(path)
			Expect(records(a.stderr)).To(HaveExactElements(
				And(HaveField("Level", "WARN"), HaveField("LogFile", path), HaveField("Error", ContainSubstring("log file"))),
				HaveField("Reason", ContainSubstring("no such namespace"))))
		},
		Entry("a link to a file that is there", func() string {
			target := filepath.Join(dir, "target")
			Expect(os.WriteFile(target, []byte(old), 0o600)).To(Succeed())
			Expect(os.Symlink(target, file)).To(Succeed())
			DeferCleanup(func() { Expect(read(target)).To(Equal(old)) })
			return file
		}),
		Entry("a link to a file that would be made", func() string {
			target := filepath.Join(dir, "target")
			Expect(os.Symlink(target, file)).To(Succeed())
			DeferCleanup(func() { Expect(target).NotTo(BeAnExistingFile()) })
			return file
		}),
		Entry("a link to itself", func() string {
			Expect(os.Symlink(file, file)).To(Succeed())
			return file
		}),
		Entry("a FIFO with a reader, which would be written to", func() string {
			Expect(unix.Mkfifo(file, 0o600)).To(Succeed())
			fd, err := unix.Open(file, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(func() {
				Expect(unix.Read(fd, make([]byte, 1))).To(BeZero(), "nothing was written")
				unix.Close(fd)
			})
			return file
		}),
		Entry("a device", func() string { return "/dev/null" }),
		Entry("a device that is always full", func() string { return "/dev/full" }),
		Entry("a socket", func() string {
			// A path that fits a socket's address.
			listener, err := net.Listen("unix", filepath.Join("/run/netns", "log.sock"))
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(listener.Close)
			return listener.Addr().String()
		}),
		Entry("a directory", func() string { return dir }),
		Entry("a descriptor of the plugin's own", func() string { return "/proc/self/fd/1" }),
	)

	It("is found through directories that are links, which are root's to make", func() {
		Expect(os.Mkdir(filepath.Join(dir, "real"), 0o700)).To(Succeed())
		Expect(os.Symlink("real", filepath.Join(dir, "alias"))).To(Succeed())
		a := add(filepath.Join(dir, "alias", "log"))
		Expect(read(filepath.Join(dir, "real", "log"))).To(Equal(a.stderr))
	})

	It("keeps mode, owner and content of a file that is there", func() {
		Expect(os.WriteFile(file, []byte(old), 0o600)).To(Succeed())
		Expect(os.Chmod(file, 0o644)).To(Succeed())
		owner := os.Geteuid()
		if hasUsers() {
			owner = nobody
			Expect(os.Chown(file, owner, -1)).To(Succeed())
		}
		a := add(file)
		Expect(read(file)).To(Equal(old + a.stderr))
		info, err := os.Stat(file)
		Expect(err).NotTo(HaveOccurred())
		Expect(info.Mode()).To(Equal(os.FileMode(0o644)))
		Expect(info.Sys().(*syscall.Stat_t).Uid).To(BeEquivalentTo(owner))
	})

	It("is made for its owner only, whatever the umask, and no directory is made", func() {
		a := shell(`umask 0 && exec "$0"`).run(environment("ADD", "/run/netns/gone"), conf("0.3.1", `"logFile":"`+file+`"`, calico))
		Expect(a.stdout).To(Equal(calico))
		info, err := os.Stat(file)
		Expect(err).NotTo(HaveOccurred())
		Expect(info.Mode()).To(Equal(os.FileMode(0o600)))

		add(filepath.Join(dir, "missing", "log"))
		Expect(filepath.Join(dir, "missing")).NotTo(BeADirectory())
	})

	// A second name of a file is the file; the kernel lets others make one only
	// for files that they may write (fs.protected_hardlinks).
	It("that is a second name of a file is that file", func() {
		target := filepath.Join(dir, "target")
		Expect(os.WriteFile(target, []byte(old), 0o640)).To(Succeed())
		Expect(os.Link(target, file)).To(Succeed())
		a := add(file)
		Expect(read(target)).To(Equal(old + a.stderr))
	})

	It("has whole lines, however many ADDs write at once", func() {
		const adds = 40
		var wg sync.WaitGroup
		for range adds {
			wg.Go(func() {
				defer GinkgoRecover()
				add(file)
			})
		}
		wg.Wait()
		Expect(oneLineEach(read(file))).To(And(HaveLen(adds), HaveEach(HaveField("Level", "WARN"))))
	})

	It("on a disk that is full costs no ADD anything", func() {
		disk := filepath.Join(dir, "disk")
		Expect(os.Mkdir(disk, 0o700)).To(Succeed())
		Expect(unix.Mount("suite", disk, "tmpfs", 0, "size=4096")).To(Succeed())
		DeferCleanup(unix.Unmount, disk, 0)
		Expect(os.WriteFile(filepath.Join(disk, "full"), []byte(strings.Repeat(".", 4096)), 0o600)).To(Succeed())
		Expect(records(add(filepath.Join(disk, "log")).stderr)).To(ContainElement(HaveField("Reason", ContainSubstring("no such namespace"))))
	})

	It("that may not grow costs no ADD anything", func() {
		a := shell(`ulimit -f 0; exec "$0"`).run(environment("ADD", "/run/netns/gone"), conf("0.3.1", `"logFile":"`+file+`"`, calico))
		Expect(a.code).To(Equal(0), a.stderr)
		Expect(a.stdout).To(Equal(calico))
		Expect(read(file)).To(BeEmpty(), "the limit is felt")
	})
})
