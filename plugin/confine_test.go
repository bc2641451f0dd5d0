// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
	"unsafe"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"
)

// confinement is what the plugin is started under. The test binary starts
// itself, takes the rights away from itself and then becomes the plugin.
type confinement struct {
	// Deny gives system calls an error instead of running them, as a seccomp
	// profile does.
	Deny []denial
	// DropCapabilities leaves root without a capability, so that it has the
	// rights of an ordinary user where the kernel asks for one.
	DropCapabilities bool
	// NonblockingStdout sets O_NONBLOCK on the open file behind stdout.
	NonblockingStdout bool
	// Supervised leaves the calls of the seam to the suite.
	Supervised bool
}

type denial struct {
	Call  uint32
	Errno syscall.Errno
}

const confineVariable = "RESULT_ENRICHER_SUITE_CONFINE"

// The start as the plugin happens here, before the suite's own main.
func init() {
	raw, ok := os.LookupEnv(confineVariable)
	if !ok {
		return
	}
	fmt.Fprintln(os.Stderr, "confine:", becomePlugin(raw))
	os.Exit(125)
}

// becomePlugin returns only when it fails.
func becomePlugin(raw string) error {
	var c confinement
	if err := json.Unmarshal([]byte(raw), &c); err != nil {
		return fmt.Errorf("decode the confinement: %w", err)
	}
	env := slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, confineVariable+"=") })
	// What is set here is the thread's; the one that calls exec keeps it.
	runtime.LockOSThread()
	if c.NonblockingStdout {
		if err := unix.SetNonblock(1, true); err != nil {
			return fmt.Errorf("set O_NONBLOCK: %w", err)
		}
	}
	if c.DropCapabilities {
		for capability := range uintptr(64) {
			err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0)
			if err != nil && !errors.Is(err, unix.EINVAL) {
				return fmt.Errorf("drop capability %d: %w", capability, err)
			}
		}
	}
	if len(c.Deny) > 0 {
		var actions []action
		for _, d := range c.Deny {
			actions = append(actions, action{d.Call, unix.SECCOMP_RET_ERRNO | uint32(d.Errno)})
		}
		if _, err := filter(actions, 0); err != nil {
			return err
		}
	}
	if c.Supervised {
		if err := surrender(); err != nil {
			return err
		}
	}
	return syscall.Exec(os.Args[1], os.Args[1:], env)
}

// action is what a filter does with a call.
type action struct{ call, action uint32 }

// filter installs a seccomp filter that compares the number of the call, the
// first word of seccomp_data. It gives what seccomp(2) gives: 0, or the listener
// that the flags ask for.
func filter(actions []action, flags uintptr) (int, error) {
	program := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}}
	for _, a := range actions {
		program = append(program,
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: a.call},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: a.action})
	}
	program = append(program, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("set no_new_privs: %w", err)
	}
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return 0, fmt.Errorf("install the filter: %w", errno)
	}
	return int(fd), nil
}

// program is a way to start the plugin: a command and what its environment needs
// beside that of CNI.
type program struct {
	argv []string
	env  []string
}

func confined(c confinement) program {
	GinkgoHelper()
	raw, err := json.Marshal(c)
	Expect(err).NotTo(HaveOccurred())
	return program{[]string{"/proc/self/exe", binary}, []string{confineVariable + "=" + string(raw)}}
}

// shell starts the plugin as $0 of a script, for limits and redirections.
func shell(script string) program { return program{argv: []string{"/bin/sh", "-c", script, binary}} }

// patience is how long a run of the plugin may take before it is called hung.
// Its own deadline is 2 s, and the machine may be busy.
const patience = time.Minute

// command is the plugin's start with nothing but env.
func (p program) command(env map[string]string, stdin string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	DeferCleanup(cancel)
	cmd := exec.CommandContext(ctx, p.argv[0], p.argv[1:]...)
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Env = slices.Clone(p.env)
	for _, key := range slices.Sorted(maps.Keys(env)) {
		cmd.Env = append(cmd.Env, key+"="+env[key])
	}
	return cmd
}

// run is start for a program. The code is -1 for one that a signal ended.
func (p program) run(env map[string]string, stdin string) answer {
	GinkgoHelper()
	var stdout, stderr bytes.Buffer
	cmd := p.command(env, stdin)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	return answer{code: wait(cmd), stdout: stdout.String(), stderr: stderr.String()}
}

// wait runs the command and gives its exit code.
func wait(cmd *exec.Cmd) int {
	GinkgoHelper()
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		// A plugin that is gone does not read the rest of its stdin.
		Expect(err).To(MatchError(unix.EPIPE))
	}
	return cmd.ProcessState.ExitCode()
}
