// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"
)

// pipe is a pipe of the kernel's size, without the flags that os.Pipe sets on
// the open files, which the plugin would inherit.
func pipe() (read, write *os.File) {
	GinkgoHelper()
	var fds [2]int
	Expect(unix.Pipe2(fds[:], unix.O_CLOEXEC)).To(Succeed())
	read, write = os.NewFile(uintptr(fds[0]), "read"), os.NewFile(uintptr(fds[1]), "write")
	DeferCleanup(func() { read.Close(); write.Close() })
	return read, write
}

// fill writes until the pipe takes no more, and gives what it took.
func fill(write *os.File) []byte {
	GinkgoHelper()
	fd := int(write.Fd())
	Expect(unix.SetNonblock(fd, true)).To(Succeed())
	var filled int
	chunk := bytes.Repeat([]byte{'.'}, 4096)
	for {
		n, err := unix.Write(fd, chunk)
		if err != nil {
			Expect(err).To(MatchError(unix.EAGAIN))
			break
		}
		filled += n
	}
	Expect(unix.SetNonblock(fd, false)).To(Succeed())
	return bytes.Repeat([]byte{'.'}, filled)
}

// output collects what a process writes while it runs.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

var _ = Describe("stdout", func() {
	It("that is full is an error on stderr and exit code 1", func() {
		ns, _ := faultyPod()
		for _, netns := range []string{ns.Path, "/run/netns/gone"} {
			a := shell(`exec "$0" >/dev/full`).run(environment("ADD", netns), conf("0.3.1", `"logLevel":"error"`, calico))
			Expect(a.code).To(Equal(1))
			Expect(a.stderr).To(And(ContainSubstring("stdout"), ContainSubstring("no space left on device")))
		}
	})

	It("that nobody reads any more ends the process, and not well", func() {
		ns, _ := faultyPod()
		read, write := pipe()
		Expect(read.Close()).To(Succeed())
		var stderr bytes.Buffer
		cmd := program{argv: []string{binary}}.command(environment("ADD", ns.Path), conf("0.3.1", "", calico))
		cmd.Stdout, cmd.Stderr = write, &stderr
		// Either the write fails, or SIGPIPE comes first.
		Expect(wait(cmd)).To(BeElementOf(1, -1))
		Expect(stderr.String()).NotTo(ContainSubstring("panic"))
	})

	DescribeTable("that is a full pipe gets the whole document as soon as it is read",
		func(nonblocking bool) {
			ns, right := faultyPod()
			read, write := pipe()
			filled := fill(write)
			stderr := &output{}
			cmd := confined(confinement{NonblockingStdout: nonblocking}).command(environment("ADD", ns.Path), conf("0.3.1", "", calico))
			cmd.Stdout, cmd.Stderr = write, stderr
			Expect(cmd.Start()).To(Succeed())
			Expect(write.Close()).To(Succeed())
			// The record is the last thing before the document.
			Eventually(stderr.String, patience).Should(ContainSubstring("repaired"))

			written, err := io.ReadAll(read)
			Expect(err).NotTo(HaveOccurred())
			Expect(cmd.Wait()).To(Succeed())
			Expect(bytes.HasPrefix(written, filled)).To(BeTrue())
			Expect(written[len(filled):]).To(MatchJSON(right))
		},
		Entry("and waits", false),
		Entry("and does not wait", true),
	)

	It("gets a document that is larger than a pipe in one piece", func() {
		ns, _ := faultyPod()
		a := start(environment("ADD", ns.Path), conf("0.3.1", "", large()))
		Expect(len(a.stdout)).To(BeNumerically(">", 64<<10), "the room of a pipe")
		b := start(environment("ADD", ns.Path), conf("0.3.1", "", a.stdout))
		Expect(b.code).To(Equal(0))
		Expect(strings.Compare(b.stdout, a.stdout)).To(BeZero(), "twice is once, to the byte")
	})
})

var _ = Describe("descriptors that are closed", func() {
	// Go's runtime opens /dev/null in the place of those of 0, 1 and 2 that are
	// closed, so that no file of the plugin's gets such a number: neither the log
	// nor the namespace is ever taken for stdout.
	DescribeTable("are nobody's",
		func(redirection string, code int, document bool) {
			ns, right := faultyPod()
			file := filepath.Join(GinkgoT().TempDir(), "log")
			a := shell(`exec "$0" `+redirection).run(environment("ADD", ns.Path), conf("0.3.1", `"logFile":"`+file+`"`, calico))
			Expect(a.code).To(Equal(code))
			switch {
			case document && code == 0:
				Expect(a.stdout).To(MatchJSON(right))
			case document:
				Expect(a.cniError().Code).To(BeEquivalentTo(6))
			default:
				Expect(a.stdout).To(BeEmpty())
			}
			if code == 0 {
				written, err := os.ReadFile(file)
				Expect(err).NotTo(HaveOccurred())
				Expect(records(string(written))).To(HaveExactElements(HaveField("Level", "INFO")))
			}
		},
		Entry("stdin: code 6, as for an empty one", `<&-`, 1, true),
		Entry("stdout: as if it were /dev/null", `>&-`, 0, false),
		Entry("stderr: the document is the same", `2>&-`, 0, true),
		Entry("stdout and stderr", `>&- 2>&-`, 0, false),
		Entry("all", `<&- >&- 2>&-`, 1, false),
	)

	It("end the process without output where there is no descriptor for /dev/null either", func() {
		ns, _ := faultyPod()
		a := shell(`ulimit -n 0; exec "$0" >&-`).run(environment("ADD", ns.Path), conf("0.3.1", "", calico))
		Expect(a.code).NotTo(Equal(0))
		Expect(a.stdout).To(BeEmpty())
	})
})

var _ = DescribeTable("stdin that cannot be read is code 6",
	func(redirection string) {
		e := shell(`exec "$0" `+redirection).run(environment("ADD", "/run/netns/gone"), "").cniError()
		Expect(e.Code).To(BeEquivalentTo(6))
	},
	Entry("a directory", `</`),
	Entry("opened for writing", `0>/dev/null`),
	Entry("nothing in it", `</dev/null`),
)
