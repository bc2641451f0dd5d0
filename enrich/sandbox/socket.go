// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/vishvananda/netlink/nl"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// errDumpInterrupted says that the kernel marked a dump: something changed while
// it was made, and entries may be missing from it.
var errDumpInterrupted = errors.New("dump interrupted by a change")

// receiveSize holds every datagram of a dump: the kernel makes them no longer than
// the caller has shown to have room for, and than 32 KiB (netlink_dump,
// netlink_recvmsg). The answer about a single link has all of its alternative names,
// and may be longer: see errTruncated. Pages that are not used are not touched.
const receiveSize = 28 << 10

// errTruncated says that an answer did not fit. The buffer has the room for it now.
var errTruncated = errors.New("netlink answer did not fit")

// socket is a netlink socket inside a namespace. Messages and attributes are the
// library's, sending and receiving are not: the library's handle receives into
// 64 KiB on the stack and through the runtime's poller, which a process of two
// milliseconds feels, and cannot ask for the addresses of one link.
type socket struct {
	fd  int
	seq uint32
	buf []byte
	// datagrams counts what was received.
	datagrams int
	// until is when receiving ends, zero for never.
	until time.Time
}

// dial opens a socket in the namespace, and tells whether that is the caller's
// own, which nobody has to be allowed to enter. inInit says that the goroutine
// stays on its thread anyway.
func dial(ns netns.NsHandle, id fileID, inInit bool) (s *socket, current bool, err error) {
	if !inInit {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
	}
	// Not by number, as netns.Get does: where /proc is that of another PID namespace,
	// the number is somebody else's.
	own, err := netns.GetFromPath("/proc/thread-self/ns/net")
	if err != nil {
		return nil, false, fmt.Errorf("open the own namespace: %w", err)
	}
	defer unix.Close(int(own))
	ownID, err := identity(own)
	if err != nil {
		return nil, false, err
	}
	if current = ownID == id; current {
		s, err = newSocket()
		return s, current, err
	}
	if err := netns.Set(ns); err != nil {
		return nil, false, fmt.Errorf("enter the namespace: %w", err)
	}
	s, err = newSocket()
	if back := netns.Set(own); back != nil {
		if !inInit {
			// Locked once more than unlocked, the thread ends with its goroutine: no
			// other may run in the wrong namespace.
			runtime.LockOSThread()
		}
		return nil, false, fmt.Errorf("return to the own namespace: %w", back)
	}
	return s, false, err
}

// newSocket opens a socket in the namespace of the thread.
func newSocket() (*socket, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("open a netlink socket: %w", err)
	}
	// Strict checking makes the kernel heed the link in a request for addresses
	// and the table in one for routes. Before Linux 4.20 there is none, and more
	// comes than was asked for; the reader leaves it out.
	if err := unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_GET_STRICT_CHK, 1); err != nil && !errors.Is(err, unix.ENOPROTOOPT) {
		unix.Close(fd)
		return nil, fmt.Errorf("ask for strict checking: %w", err)
	}
	return &socket{fd: fd, buf: make([]byte, receiveSize)}, nil
}

func (s *socket) Close() { unix.Close(s.fd) }

// SetTimeout bounds all that follows. The kernel's timeout starts again with every
// datagram, somebody else's too, so the clock counts besides. Sending to the kernel
// never waits for room.
func (s *socket) SetTimeout(left time.Duration) error {
	s.until = time.Now().Add(left)
	tv := unix.NsecToTimeval(left.Nanoseconds())
	return os.NewSyscallError("setsockopt", unix.SetsockoptTimeval(s.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv))
}

// exchange sends a request and gives every message of the answer to handle. The
// data is valid during the call only. The error is the kernel's errno, or
// errDumpInterrupted after a dump that was read to its end.
func (s *socket) exchange(request *nl.NetlinkRequest, handle func(data []byte) error) error {
	s.seq++
	request.Seq = s.seq
	if err := unix.Sendto(s.fd, request.Serialize(), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return os.NewSyscallError("sendto", err)
	}
	interrupted := false
	for {
		messages, err := s.receive()
		if err != nil {
			return err
		}
		for _, m := range messages {
			if m.Header.Seq != s.seq {
				// The rest of an answer that was given up.
				continue
			}
			interrupted = interrupted || m.Header.Flags&unix.NLM_F_DUMP_INTR != 0
			switch m.Header.Type {
			case unix.NLMSG_DONE, unix.NLMSG_ERROR:
				if err := errnoOf(m.Data); err != nil {
					return err
				}
				if interrupted {
					return errDumpInterrupted
				}
				return nil
			}
			if err := handle(m.Data); err != nil {
				return err
			}
			if m.Header.Flags&unix.NLM_F_MULTI == 0 {
				return nil
			}
		}
	}
}

// receive reads one datagram of the kernel's.
func (s *socket) receive() ([]syscall.NetlinkMessage, error) {
	for s.until.IsZero() || time.Now().Before(s.until) {
		n, from, err := unix.Recvfrom(s.fd, s.buf, unix.MSG_TRUNC)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return nil, os.NewSyscallError("recvfrom", err)
		}
		if sender, ok := from.(*unix.SockaddrNetlink); !ok || sender.Pid != nl.PidKernel {
			// Anybody in the namespace may write to the socket.
			continue
		}
		if n > len(s.buf) {
			s.buf = make([]byte, n)
			return nil, errTruncated
		}
		s.datagrams++
		messages, err := syscall.ParseNetlinkMessage(s.buf[:n])
		if err != nil {
			return nil, fmt.Errorf("parse what netlink sent: %w", err)
		}
		return messages, nil
	}
	return nil, fmt.Errorf("no answer within the deadline: %w", os.ErrDeadlineExceeded)
}

// errnoOf reads the end of an answer: a negative errno, or 0. The end of a dump
// may have none.
func errnoOf(data []byte) error {
	if len(data) < 4 {
		return nil
	}
	if errno := int32(nl.NativeEndian().Uint32(data)); errno != 0 {
		return syscall.Errno(-errno)
	}
	return nil
}
