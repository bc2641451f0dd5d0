// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"unsafe"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"

	"github.com/result-enricher/result-enricher/internal/fieldcase"
)

// seam are the system calls that a netlink library makes, this one or another.
// Those of the plugin wait until the suite has decided about them: each runs,
// fails, or gets an answer that is not the kernel's.
var seam = map[int32]string{
	unix.SYS_SOCKET: "socket",
	unix.SYS_SENDTO: "sendto", unix.SYS_SENDMSG: "sendmsg", unix.SYS_SENDMMSG: "sendmmsg",
	unix.SYS_RECVFROM: "recvfrom", unix.SYS_RECVMSG: "recvmsg", unix.SYS_RECVMMSG: "recvmmsg",
}

// control is the first descriptor that a command gets beside its stdio.
const control = 3

// surrender leaves the calls of the seam to the process at the other end of
// control, which takes the listener from here. The plugin has neither of them.
func surrender() error {
	unix.CloseOnExec(control)
	var actions []action
	for call := range seam {
		actions = append(actions, action{uint32(call), unix.SECCOMP_RET_USER_NOTIF})
	}
	// With the second flag no signal makes a call begin again, and be seen twice.
	listener, err := filter(actions, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
	if errors.Is(err, unix.EINVAL) {
		// Linux before 5.19.
		listener, err = filter(actions, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)
	}
	if err != nil {
		return err
	}
	// From here on this thread must not make a call of the seam.
	if _, err := unix.Write(control, []byte(strconv.Itoa(listener))); err != nil {
		return fmt.Errorf("tell the listener: %w", err)
	}
	if n, err := unix.Read(control, make([]byte, 1)); n != 1 {
		return errors.Join(errors.New("the suite has not taken the listener"), err)
	}
	return nil
}

// verdict is what becomes of a call. The zero value lets it run.
type verdict struct {
	errno    syscall.Errno
	datagram *datagram
}

// datagram is what a receive gives. Port is the sender's, 0 is the kernel.
type datagram struct {
	data []byte
	port uint32
}

// trapped is a call that waits for its verdict.
type trapped struct {
	name string
	args [6]uint64
	// request is the number of the latest request, from 1 on, and receive that of
	// the receives behind it, 0 for the request's own call.
	request, receive int
	by               *supervisor
}

// exchange is a request, in words, and how often was received after it.
type exchange struct {
	request  string
	raw      []byte
	receives int
	buffer   int
}

// supervisor decides about one run of the plugin.
type supervisor struct {
	cmd             *exec.Cmd
	stdout, stderr  bytes.Buffer
	pidfd, listener int
	decide          func(c *trapped) verdict
	done            chan struct{}
	// sockets are those that were opened, in words.
	sockets []string
	asked   []exchange
	// strangers are calls that the plugin does not make today.
	strangers []string
}

// supervise starts the plugin. A nil decide lets every call run. It is called
// for one call after the other, from another goroutine.
func supervise(env map[string]string, stdin string, decide func(c *trapped) verdict) *supervisor {
	GinkgoHelper()
	s := &supervisor{cmd: confined(confinement{Supervised: true}).command(env, stdin), decide: decide, done: make(chan struct{})}
	s.cmd.Stdout, s.cmd.Stderr = &s.stdout, &s.stderr
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	Expect(err).NotTo(HaveOccurred())
	ours, theirs := os.NewFile(uintptr(pair[0]), "control"), os.NewFile(uintptr(pair[1]), "control")
	defer ours.Close()
	s.cmd.ExtraFiles = []*os.File{theirs}
	err = s.cmd.Start()
	theirs.Close()
	Expect(err).NotTo(HaveOccurred())
	if err := s.takeListener(ours); err != nil {
		Expect(ours.Close()).To(Succeed())
		wait := s.cmd.Wait()
		unsupervised := fmt.Sprintf("the plugin's calls cannot be supervised here: %v (%v, %s)", err, wait, &s.stderr)
		if os.Getenv("CI") != "" {
			Fail(unsupervised)
		}
		Skip(unsupervised)
	}
	go s.serve()
	return s
}

func (s *supervisor) takeListener(control *os.File) error {
	number := make([]byte, 16)
	n, err := control.Read(number)
	if err != nil {
		return fmt.Errorf("no listener: %w", err)
	}
	theirs, err := strconv.Atoi(string(number[:n]))
	if err != nil {
		return fmt.Errorf("no listener: %w", err)
	}
	if s.pidfd, err = unix.PidfdOpen(s.cmd.Process.Pid, 0); err != nil {
		return fmt.Errorf("pidfd_open: %w", err)
	}
	if s.listener, err = unix.PidfdGetfd(s.pidfd, theirs, 0); err != nil {
		unix.Close(s.pidfd)
		return fmt.Errorf("pidfd_getfd: %w", err)
	}
	if _, err := control.Write([]byte{1}); err != nil {
		unix.Close(s.listener)
		unix.Close(s.pidfd)
		return fmt.Errorf("let go: %w", err)
	}
	return nil
}

// wait gives the plugin's answer. Nothing of the supervision is left then.
func (s *supervisor) wait() answer {
	GinkgoHelper()
	err := s.cmd.Wait()
	<-s.done
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) {
		Expect(err).NotTo(HaveOccurred())
	}
	Expect(s.strangers).To(BeEmpty(), "the seam of these specs is elsewhere")
	return answer{s.stdout.String(), s.stderr.String(), s.cmd.ProcessState.ExitCode()}
}

// notification is struct seccomp_notif.
type notification struct {
	id         uint64
	pid, flags uint32
	call       int32
	arch       uint32
	ip         uint64
	args       [6]uint64
}

// response is struct seccomp_notif_resp.
type response struct {
	id    uint64
	value int64
	errno int32
	flags uint32
}

// serve ends with the plugin. When it ends before, because an assertion in
// decide failed, the calls that are left fail with ENOSYS.
func (s *supervisor) serve() {
	defer close(s.done)
	defer GinkgoRecover()
	defer unix.Close(s.pidfd)
	defer unix.Close(s.listener)
	for {
		ready := []unix.PollFd{{Fd: int32(s.listener), Events: unix.POLLIN}}
		_, err := unix.Poll(ready, -1)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		Expect(err).NotTo(HaveOccurred())
		if ready[0].Revents&unix.POLLIN == 0 {
			// Nobody has the filter any more.
			return
		}
		var n notification
		if errno := ioctl(s.listener, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)); errno != 0 {
			Expect(errno).To(Or(Equal(unix.EINTR), Equal(unix.ENOENT)), "ENOENT is a caller that died")
			continue
		}
		r := s.judge(&n)
		if errno := ioctl(s.listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r)); errno != 0 {
			Expect(errno).To(Equal(unix.ENOENT))
		}
	}
}

func ioctl(fd int, request uint, argument unsafe.Pointer) syscall.Errno {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(request), uintptr(argument))
	return errno
}

// judge records the call, and puts the verdict into the kernel's terms.
func (s *supervisor) judge(n *notification) response {
	c := &trapped{name: seam[n.call], args: n.args, by: s}
	switch c.name {
	case "socket":
		s.sockets = append(s.sockets, fmt.Sprintf("AF %d type %#x protocol %d", n.args[0], n.args[1], n.args[2]))
	case "sendto":
		raw := make([]byte, n.args[2])
		s.copy(unix.ProcessVMReadv, raw, n.args[1])
		s.asked = append(s.asked, exchange{request: inWords(raw), raw: raw})
	case "recvfrom":
		Expect(s.asked).NotTo(BeEmpty(), "received before anything was asked")
		s.asked[len(s.asked)-1].receives++
		s.asked[len(s.asked)-1].buffer = int(n.args[2])
	default:
		s.strangers = append(s.strangers, c.name)
	}
	if c.request = len(s.asked); c.request > 0 {
		c.receive = s.asked[c.request-1].receives
	}
	var v verdict
	if s.decide != nil {
		v = s.decide(c)
	}
	r := response{id: n.id}
	switch {
	case v.errno != 0:
		r.errno = -int32(v.errno)
	case v.datagram != nil:
		r.value = c.give(v.datagram)
	default:
		r.flags = unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE
	}
	return r
}

// take receives in the plugin's place.
func (c *trapped) take() *datagram {
	GinkgoHelper()
	taken := c.takeUpTo(1)
	Expect(taken).To(HaveLen(1), "the kernel answers a request while it is sent")
	return taken[0]
}

// lose receives all that the kernel has to say, and lets the call run.
func (c *trapped) lose() verdict {
	GinkgoHelper()
	Expect(c.takeUpTo(math.MaxInt)).NotTo(BeEmpty())
	return verdict{}
}

// takeUpTo receives without waiting.
func (c *trapped) takeUpTo(most int) (taken []*datagram) {
	GinkgoHelper()
	Expect(c.name).To(Equal("recvfrom"))
	socket, err := unix.PidfdGetfd(c.by.pidfd, int(c.args[0]), 0)
	Expect(err).NotTo(HaveOccurred())
	defer unix.Close(socket)
	for len(taken) < most {
		buf := make([]byte, c.args[2])
		n, from, err := unix.Recvfrom(socket, buf, unix.MSG_DONTWAIT)
		if errors.Is(err, unix.EAGAIN) {
			return taken
		}
		Expect(err).NotTo(HaveOccurred())
		Expect(from).To(BeAssignableToTypeOf(&unix.SockaddrNetlink{}))
		taken = append(taken, &datagram{buf[:n], from.(*unix.SockaddrNetlink).Pid})
	}
	return taken
}

// give writes a datagram and its sender into the memory of the plugin, as
// recvfrom does, and gives the length: that of all of it, as for MSG_TRUNC.
func (c *trapped) give(d *datagram) int64 {
	Expect(c.name).To(Equal("recvfrom"))
	c.by.copy(unix.ProcessVMWritev, d.data[:min(uint64(len(d.data)), c.args[2])], c.args[1])
	sender := unix.RawSockaddrNetlink{Family: unix.AF_NETLINK, Pid: d.port}
	c.by.copy(unix.ProcessVMWritev, unsafe.Slice((*byte)(unsafe.Pointer(&sender)), unsafe.Sizeof(sender)), c.args[4])
	length := uint32(unsafe.Sizeof(sender))
	c.by.copy(unix.ProcessVMWritev, unsafe.Slice((*byte)(unsafe.Pointer(&length)), unsafe.Sizeof(length)), c.args[5])
	return int64(len(d.data))
}

// copy is process_vm_readv or process_vm_writev between local and the plugin.
func (s *supervisor) copy(transfer func(int, []unix.Iovec, []unix.RemoteIovec, uint) (int, error), local []byte, remote uint64) {
	if len(local) == 0 {
		return
	}
	here := []unix.Iovec{{Base: &local[0]}}
	here[0].SetLen(len(local))
	n, err := transfer(s.cmd.Process.Pid, here, []unix.RemoteIovec{{Base: uintptr(remote), Len: len(local)}}, 0)
	if errors.Is(err, unix.ESRCH) {
		// It died meanwhile.
		return
	}
	Expect(err).NotTo(HaveOccurred())
	Expect(n).To(Equal(len(local)))
}

var _ = Describe("the supervisor of these specs", func() {
	It("ends with a plugin that is killed in a call, and leaves no descriptor", func() {
		ns := newPod("cni-killed", []fieldcase.Link{podLink}, nil)
		open := func() int {
			GinkgoHelper()
			fds, err := os.ReadDir("/proc/self/fd")
			Expect(err).NotTo(HaveOccurred())
			return len(fds)
		}
		before := open()
		for _, call := range []string{"socket", "sendto", "recvfrom"} {
			s := supervise(environment("ADD", ns.Path), conf("0.3.1", "", calico), func(c *trapped) verdict {
				var v verdict
				if c.name == call {
					if call == "recvfrom" {
						v.datagram = c.take()
					}
					must(c.by.cmd.Process.Kill())
				}
				return v
			})
			Expect(s.wait()).To(Equal(answer{code: -1}))
			Expect(s.done).To(BeClosed())
		}
		Expect(open()).To(Equal(before))
	})
})
