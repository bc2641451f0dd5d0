// SPDX-License-Identifier: Apache-2.0

// Package isolate runs a program in network and mount namespaces of its own, so that whatever real plugins do to "the
// host" happens to nothing of the machine: the network namespace starts with a loopback link alone, and the directories
// where CNI keeps state are empty file systems in memory. When the program ends, the kernel takes all of it away.
//
// The program starts itself a second time. The first process, the outer one, still has the machine's network and files;
// it prepares what needs them and then waits. The second, the inner one, runs what must be isolated. Root needs nothing
// more; any other user enters a user namespace too, where the machine allows that.
package isolate

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// ErrNotPermitted says that this user may not make the namespaces.
var ErrNotPermitted = errors.New("make the namespaces: not permitted; run as root, or allow unprivileged user namespaces")

// marker tells the inner process that it is the inner one; its value is the directory that the outer one prepared.
const marker = "RESULT_ENRICHER_E2E_INNER"

// Main calls stage in the outer process, with a new temporary directory, and run in the inner process, with the same
// directory. In the outer process it returns the inner one's exit code and an error of its own, never both; the
// directory is gone by then. In the inner process it returns what run returned.
func Main(stage func(dir string) error, run func(dir string) int) (int, error) {
	if dir, inner := os.LookupEnv(marker); inner {
		if err := os.Unsetenv(marker); err != nil {
			return 1, fmt.Errorf("clear %s: %w", marker, err)
		}
		if err := settle(); err != nil {
			return 1, err
		}
		return run(dir), nil
	}

	dir, err := os.MkdirTemp("", "result-enricher-e2e-")
	if err != nil {
		return 1, fmt.Errorf("make a temporary directory: %w", err)
	}
	code, err := startInner(dir, stage)
	if removal := os.RemoveAll(dir); removal != nil {
		err = errors.Join(err, fmt.Errorf("remove the temporary directory: %w", removal))
	}
	return code, err
}

func startInner(dir string, stage func(dir string) error) (int, error) {
	// From here on an interrupt must not end this process before the directory is removed.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, unix.SIGINT, unix.SIGTERM, unix.SIGQUIT, unix.SIGHUP)
	defer signal.Stop(signals)

	if err := stage(dir); err != nil {
		return 1, err
	}
	// Pdeathsig is sent when the thread that started the process ends, so that thread has to last.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), marker+"="+dir)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = attributes()
	if err := cmd.Start(); err != nil {
		if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EACCES) {
			return 1, fmt.Errorf("%w (%w)", ErrNotPermitted, err)
		}
		return 1, fmt.Errorf("start %s in namespaces of its own: %w", os.Args[0], err)
	}
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case s := <-signals:
				// The process may have ended already; Wait tells.
				cmd.Process.Signal(s) //nolint:errcheck // see above
			case <-done:
				return
			}
		}
	}()
	err := cmd.Wait()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return max(exit.ExitCode(), 1), nil
	}
	if err != nil {
		return 1, fmt.Errorf("wait for the inner process: %w", err)
	}
	return 0, nil
}

func attributes() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWNS,
		Pdeathsig:  unix.SIGKILL,
	}
	if os.Geteuid() != 0 {
		attr.Cloneflags |= unix.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	return attr
}

// settle makes the inner process's surroundings those of a fresh machine.
func settle() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the mounts private: %w", err)
	}
	for _, dir := range []string{"/run/netns", "/var/run/netns", "/run/cni", "/var/lib/cni"} {
		if err := freshDir(dir); err != nil {
			return err
		}
	}
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("find lo: %w", err)
	}
	if err := netlink.LinkSetUp(lo); err != nil {
		return fmt.Errorf("set lo up: %w", err)
	}
	return nil
}
