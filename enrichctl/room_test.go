// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"os"
	"os/exec"
	"syscall"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
)

// room makes a command that runs a shell script in a mount namespace of its own, so that the
// machine never sees the script's mounts, and they are gone with its last process. user gives it a user
// namespace too, which is also what lets it mount without root.
func (l *lab) room(user bool, script string) *exec.Cmd {
	cmd := exec.Command("sh", "-euc", "mount --make-rprivate /\n"+script)
	cmd.Env = append(l.command().Env, "ENRICHCTL="+program, "CONF="+l.conf, "BIN="+l.bin, "ROOT="+l.root)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if user || os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	return cmd
}

// inRoom runs a script to its end, which must be a good one.
func (l *lab) inRoom(script string) *gexec.Session {
	s := l.start(l.room(false, script))
	EventuallyWithOffset(1, s).Should(gexec.Exit(0))
	return s
}
