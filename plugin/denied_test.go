// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"
)

// nobody is an ordinary user.
const nobody = 65534

// hasUsers is false in a user namespace with a single user, where nobody else
// can be become.
func hasUsers() bool {
	ids, err := os.ReadFile("/proc/self/uid_map")
	return err == nil && strings.Contains(string(ids), "4294967295")
}

// notPermitted is the whole of what a plugin without rights answers.
func notPermitted(run func(keys string) answer, right string) {
	GinkgoHelper()
	a := run("")
	Expect(a.kept(calico, right)).To(Equal(handedOn))
	Expect(records(a.stderr)).To(HaveExactElements(HaveField("Reason", ContainSubstring("not permitted"))))

	e := run(`"failurePolicy":"fail"`).cniError()
	Expect(e.Code).To(BeEquivalentTo(8))
	Expect(e.Details).To(And(ContainSubstring("not permitted"), ContainSubstring("CAP_SYS_ADMIN")))
}

var _ = Describe("a plugin that may not enter the namespace", func() {
	It("hands prevResult on as root without capabilities", func() {
		ns, right := faultyPod()
		notPermitted(func(keys string) answer {
			return confined(confinement{DropCapabilities: true}).run(environment("ADD", ns.Path), conf("0.3.1", keys, calico))
		}, right)
	})

	if hasUsers() {
		It("hands prevResult on as an ordinary user", func() {
			ns, right := faultyPod()
			// A copy that an ordinary user can reach.
			dir := GinkgoT().TempDir()
			Expect(os.Chmod(dir, 0o755)).To(Succeed())
			program := program{argv: []string{filepath.Join(dir, "plugin")}}
			Expect(exec.Command("cp", binary, program.argv[0]).Run()).To(Succeed())
			notPermitted(func(keys string) answer {
				var stdout, stderr strings.Builder
				cmd := program.command(environment("ADD", ns.Path), conf("0.3.1", keys, calico))
				cmd.Stdout, cmd.Stderr = &stdout, &stderr
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
				return answer{code: wait(cmd), stdout: stdout.String(), stderr: stderr.String()}
			}, right)
		})
	}

	It("is content at DEL, GC and STATUS", func() {
		for _, command := range []string{"DEL", "GC", "STATUS"} {
			a := confined(confinement{DropCapabilities: true}).run(map[string]string{"CNI_COMMAND": command}, "")
			Expect(a).To(Equal(answer{}))
		}
	})
})

var _ = Describe("a plugin in a PID namespace of its own, with the /proc of another", func() {
	run := func(env map[string]string) answer {
		GinkgoHelper()
		var stdout, stderr strings.Builder
		cmd := program{argv: []string{binary}}.command(env, conf("0.3.1", "", calico))
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID}
		return answer{code: wait(cmd), stdout: stdout.String(), stderr: stderr.String()}
	}

	It("repairs", func() {
		ns, right := faultyPod()
		Expect(run(environment("ADD", ns.Path)).kept(calico, right)).To(Equal(repaired))
	})

	It("knows its own namespace", func() {
		Expect(run(environment("ADD", "/proc/self/ns/net")).cniError().Code).To(BeEquivalentTo(8))
	})
})

// calls are the system calls with which a sandbox is read, today or through
// another netlink library.
var calls = map[string]uint32{
	"setns": unix.SYS_SETNS, "socket": unix.SYS_SOCKET, "bind": unix.SYS_BIND, "getsockname": unix.SYS_GETSOCKNAME,
	"setsockopt": unix.SYS_SETSOCKOPT, "sendto": unix.SYS_SENDTO, "sendmsg": unix.SYS_SENDMSG,
	"recvfrom": unix.SYS_RECVFROM, "recvmsg": unix.SYS_RECVMSG, "ioctl": unix.SYS_IOCTL, "fstat": unix.SYS_FSTAT,
	"openat": unix.SYS_OPENAT, "close": unix.SYS_CLOSE,
	// Go's runtime cannot start without these.
	"clone": unix.SYS_CLONE, "fcntl": unix.SYS_FCNTL, "mmap": unix.SYS_MMAP,
}

var calledAtStart = []string{"clone", "fcntl", "mmap"}

// faulty starts the plugin with system calls that fail.
func faulty(errno syscall.Errno, names ...string) program {
	GinkgoHelper()
	var denials []denial
	for _, name := range names {
		Expect(calls).To(HaveKey(name))
		denials = append(denials, denial{calls[name], errno})
	}
	return confined(confinement{Deny: denials})
}

var _ = Describe("a system call that is denied", func() {
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		if slices.Contains(calledAtStart, name) {
			continue
		}
		for _, errno := range []syscall.Errno{unix.EPERM, unix.ENOSYS} {
			It(fmt.Sprintf("ends in prevResult or in the right Result: %s with %s", name, unix.ErrnoName(errno)), func() {
				ns, right := faultyPod()
				env := environment("ADD", ns.Path)
				end := faulty(errno, name).run(env, conf("0.3.1", "", calico)).kept(calico, right)
				underFail := faulty(errno, name).run(env, conf("0.3.1", `"failurePolicy":"fail"`, calico)).keptUnderFail(right)
				Expect(underFail).To(Equal(end.underFail()))
				Expect(faulty(errno, name).run(map[string]string{"CNI_COMMAND": "DEL"}, "")).To(Equal(answer{}))
			})
		}
	}

	DescribeTable("is named for what it is",
		func(errno syscall.Errno, reason string, code int, names ...string) {
			ns, right := faultyPod()
			env := environment("ADD", ns.Path)
			a := faulty(errno, names...).run(env, conf("0.3.1", "", calico))
			Expect(a.kept(calico, right)).To(Equal(handedOn))
			Expect(records(a.stderr)).To(HaveExactElements(HaveField("Reason", ContainSubstring(reason))))
			e := faulty(errno, names...).run(env, conf("0.3.1", `"failurePolicy":"fail"`, calico)).cniError()
			Expect(e.Code).To(BeEquivalentTo(code))
			Expect(e.Details).To(ContainSubstring(reason))
		},
		Entry("setns", unix.EPERM, "not permitted", 8, "setns"),
		Entry("the namespace's socket", unix.EPERM, "not permitted", 8, "socket"),
		Entry("receiving", unix.EPERM, "not permitted", 8, "recvfrom", "recvmsg"),
		Entry("sending", unix.EPERM, "not permitted", 8, "sendto", "sendmsg"),
		Entry("a kernel without sockets left", unix.ENFILE, "too many open files in system", 999, "socket"),
		Entry("a kernel without memory", unix.ENOMEM, "cannot allocate memory", 999, "socket"),
		Entry("a receive buffer that ran over", unix.ENOBUFS, "no buffer space", 999, "recvfrom", "recvmsg"),
		Entry("a kernel that does not answer in time", unix.EAGAIN, "interrupted", 11, "recvfrom", "recvmsg"),
	)

	DescribeTable("and that Go's runtime needs is no output, but for its own message",
		func(errno syscall.Errno, name string) {
			ns, _ := faultyPod()
			a := faulty(errno, name).run(environment("ADD", ns.Path), conf("0.3.1", "", calico))
			Expect(a.code).To(BeElementOf(2, -1))
			Expect(a.stdout).To(BeEmpty())
		},
		Entry("no thread can be made", unix.EAGAIN, "clone"),
		Entry("a descriptor cannot be looked at", unix.EPERM, "fcntl"),
		Entry("no memory", unix.ENOMEM, "mmap"),
	)
})
