// SPDX-License-Identifier: Apache-2.0

// Package machine gives a test binary a machine of its own: new mount, PID,
// network, IPC and UTS namespaces, in which the directories that CNI, Kubernetes and
// containerd hard-code (/var/lib, /var/log, /run) are empty and private.
//
// Components started by the tests can therefore keep their usual paths, make
// links, mounts and processes as they like, and never meet those of the host or
// of another run. Whatever a crashed test leaves behind dies with the namespaces.
// What namespaces do not cover, cgroups and a few sysctls that a kubelet sets, is
// put back by the process that stays outside.
//
// It works by starting the binary again. Outside: prepare, and clean up at the end.
// Inside, as process 1: mount, and reap orphans. Its only child runs the tests.
package machine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
)

const (
	stageVariable  = "RESULT_ENRICHER_CLUSTER_STAGE"
	dirVariable    = "RESULT_ENRICHER_CLUSTER_DIR"
	cgroupVariable = "RESULT_ENRICHER_CLUSTER_CGROUP"

	stageInit  = "init"
	stageTests = "tests"

	prefix = "result-enricher-cluster-"
)

// Hostname is the name of the private machine, and so of its Kubernetes node.
const Hostname = "e2e-node"

// Dir is the run's temporary directory. Outside of a private machine it is empty.
func Dir() string { return os.Getenv(dirVariable) }

// LogDir is where components write their logs; it outlives a run that failed.
func LogDir() string { return filepath.Join(Dir(), "logs") }

// Cgroup is the absolute cgroup path, below each hierarchy's root, that the
// run's containers belong in.
func Cgroup() string { return os.Getenv(cgroupVariable) }

// Run calls tests inside a private machine and returns the exit code of the
// process. prepare runs before, outside, where there is a network; it gets the
// run's temporary directory.
func Run(prepare func(dir string) error, tests func() int) int {
	var code int
	var err error
	switch os.Getenv(stageVariable) {
	case "":
		code, err = outside(prepare)
	case stageInit:
		code, err = inside()
	case stageTests:
		err = os.Unsetenv(stageVariable)
		if err == nil {
			code = tests()
		}
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "private machine: %v\n", err)
		return 1
	}
	return code
}

func outside(prepare func(dir string) error) (code int, err error) {
	if os.Geteuid() != 0 {
		return 0, errors.New("create namespaces: must be root, run the tests with sudo -E")
	}
	if err := sweep(); err != nil {
		return 0, err
	}
	name := prefix + strconv.Itoa(os.Getpid())
	dir := filepath.Join(os.TempDir(), name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return 0, fmt.Errorf("create temporary directory: %w", err)
	}
	defer func() { err = errors.Join(err, tidy(dir, code != 0 || err != nil)) }()
	lock, err := lockDir(dir)
	if err != nil {
		return 0, err
	}
	defer lock.Close()
	if err := os.Mkdir(filepath.Join(dir, "logs"), 0o755); err != nil {
		return 0, fmt.Errorf("create log directory: %w", err)
	}
	if err := prepare(dir); err != nil {
		return 0, fmt.Errorf("prepare: %w", err)
	}
	defer func() { err = errors.Join(err, removeCgroup(name)) }()
	if err := createCgroup(name); err != nil {
		return 0, err
	}

	// The kernel delivers Pdeathsig when the thread that forked ends, not the process.
	runtime.LockOSThread()
	cmd := again(stageInit)
	cmd.Env = append(cmd.Env, dirVariable+"="+dir, cgroupVariable+"=/"+name)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
		Pdeathsig:  syscall.SIGKILL,
		// A terminal's Ctrl-C must reach the tests once, through forward, not twice.
		Setpgid: true,
	}
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("start in new namespaces: %w", err)
	}
	defer forward(cmd.Process.Pid)()
	err = cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, fmt.Errorf("wait for the private machine: %w", err)
	}
	if code = cmd.ProcessState.ExitCode(); code < 0 {
		return 1, fmt.Errorf("private machine ended by %v", cmd.ProcessState)
	}
	return code, nil
}

// inside runs as process 1 of the private machine: orphans come to it, and all
// processes are killed by the kernel when it ends.
func inside() (int, error) {
	if err := setUp(); err != nil {
		return 0, err
	}
	cmd := again(stageTests)
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("start the tests: %w", err)
	}
	defer forward(cmd.Process.Pid)()
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return 0, fmt.Errorf("wait for the tests: %w", err)
		case pid == cmd.Process.Pid && status.Signaled():
			return 1, fmt.Errorf("tests ended by signal %v", status.Signal())
		case pid == cmd.Process.Pid:
			return status.ExitStatus(), nil
		}
	}
}

// again is this same program with the same arguments, at the given stage.
func again(stage string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), stageVariable+"="+stage)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd
}

// forward passes signals on to a process until the returned function is called.
func forward(pid int) (stop func()) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGUSR1)
	go func() {
		for s := range signals {
			if s, ok := s.(syscall.Signal); ok {
				// A process that has just ended wants no signal.
				_ = syscall.Kill(pid, s)
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(signals)
	}
}

// tidy removes the run's directory; the logs of a failed run stay.
func tidy(dir string, failed bool) error {
	if logs := filepath.Join(dir, "logs"); failed && os.Remove(logs) != nil { // it is not empty
		kept := dir + ".logs"
		if err := os.Rename(logs, kept); err == nil {
			fmt.Fprintf(os.Stderr, "the components' logs are kept in %s\n", kept)
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove temporary directory: %w", err)
	}
	return nil
}

// sweep removes what is left of runs whose outer process was killed. The directory
// of a run that lives is locked, and named like its cgroup.
func sweep() error {
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*[0-9]"))
	if err != nil {
		return fmt.Errorf("list earlier runs: %w", err)
	}
	for _, dir := range dirs {
		lock, err := lockDir(dir)
		if err != nil {
			continue
		}
		err = errors.Join(removeCgroup(filepath.Base(dir)), os.RemoveAll(dir), lock.Close())
		if err != nil {
			return fmt.Errorf("clean up after an earlier run: %w", err)
		}
	}
	return nil
}

// lockDir takes the lock of a run, which goes with the process that holds it.
func lockDir(dir string) (*os.File, error) {
	file, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("open temporary directory: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", dir, err), file.Close())
	}
	return file, nil
}
