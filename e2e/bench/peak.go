// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// peakMemory runs the program and reads the most memory that it had, in KiB, in the
// moment of its end. The maximum that wait4 tells of a child counts what the parent
// had when it made the child (exec_mmap), which here is more than any of these
// programs needs.
func (p program) peakMemory() (kib int64, err error) {
	// Only the thread that made a traced process may go on with it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	stdin, err := p.stdinFile()
	if err != nil {
		return 0, err
	}
	defer stdin.Close()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return 0, fmt.Errorf("open the null device: %w", err)
	}
	defer null.Close()
	process, err := os.StartProcess(p.path, []string{p.path}, &os.ProcAttr{
		Env: p.env, Files: []*os.File{stdin, null, null}, Sys: &syscall.SysProcAttr{Ptrace: true},
	})
	if err != nil {
		return 0, fmt.Errorf("run %s: %w", p.name, err)
	}
	for {
		var status unix.WaitStatus
		if _, err := unix.Wait4(process.Pid, &status, 0, nil); errors.Is(err, unix.EINTR) {
			continue
		} else if err != nil {
			return 0, fmt.Errorf("wait for %s: %w", p.name, err)
		}
		signal := 0
		switch {
		case status.Exited() && status.ExitStatus() == 0:
			return kib, nil
		case !status.Stopped():
			return 0, fmt.Errorf("run %s: ended with %#x", p.name, status)
		case status.TrapCause() == unix.PTRACE_EVENT_EXIT:
			if kib, err = highWater(process.Pid); err != nil {
				return 0, err
			}
		case status.StopSignal() == unix.SIGTRAP:
			// The start.
			if err := unix.PtraceSetOptions(process.Pid, unix.PTRACE_O_TRACEEXIT|unix.PTRACE_O_EXITKILL); err != nil {
				return 0, fmt.Errorf("trace %s: %w", p.name, err)
			}
		default:
			signal = int(status.StopSignal())
		}
		if err := unix.PtraceCont(process.Pid, signal); err != nil {
			return 0, fmt.Errorf("go on with %s: %w", p.name, err)
		}
	}
}

// stdinFile is the program's stdin in a file without a name.
func (p program) stdinFile() (*os.File, error) {
	fd, err := unix.MemfdCreate("stdin", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make a file for stdin: %w", err)
	}
	file := os.NewFile(uintptr(fd), "stdin")
	if _, err := file.WriteString(p.stdin); err != nil {
		file.Close()
		return nil, fmt.Errorf("write stdin: %w", err)
	}
	if _, err := file.Seek(0, 0); err != nil {
		file.Close()
		return nil, fmt.Errorf("rewind stdin: %w", err)
	}
	return file, nil
}

// highWater reads VmHWM of a process.
func highWater(pid int) (kib int64, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("read the memory of a process: %w", err)
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			return strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
		}
	}
	return 0, errors.New("read the memory of a process: it has none")
}
