// SPDX-License-Identifier: Apache-2.0

// Package process runs the components of a test cluster: each writes its output
// to a log file of its own, is stopped by its process ID when the Ginkgo node that started it
// ends, after a failure too, and shows the end of its log when a spec fails.
//
// Its functions fail the running spec rather than return errors.
package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"github.com/result-enricher/result-enricher/e2e/cluster/internal/machine"
)

const (
	readyWithin = 90 * time.Second
	stopWithin  = 15 * time.Second
	tailLines   = 40
)

// Process is a running component.
type Process struct {
	name    string
	cmd     *exec.Cmd
	logFile string

	// done is closed when the process has ended and its state is in cmd; nil before it is started.
	done <-chan struct{}
}

// started numbers the log files, so that they are listed in the order of the components' start.
var started atomic.Int32

// Start starts a component and waits until ready returns nil. The component is
// stopped at the end of the Ginkgo node that called Start.
func Start(cmd *exec.Cmd, ready func() error) *Process {
	ginkgo.GinkgoHelper()
	p := &Process{name: filepath.Base(cmd.Path), cmd: cmd}
	p.logFile = filepath.Join(machine.LogDir(), fmt.Sprintf("%03d-%s.log", started.Add(1), p.name))
	ginkgo.DeferCleanup(func() {
		if ginkgo.CurrentSpecReport().Failed() {
			PrintLog(p.logFile)
		}
		p.Stop()
	})
	p.start(ready)
	return p
}

// Restart stops the component and starts it again. It is stopped when it would have been without.
func (p *Process) Restart(ready func() error) {
	ginkgo.GinkgoHelper()
	p.Stop()
	again := exec.Command(p.cmd.Path, p.cmd.Args[1:]...)
	again.Env = p.cmd.Env
	p.cmd = again
	p.start(ready)
}

func (p *Process) start(ready func() error) {
	ginkgo.GinkgoHelper()
	log, err := os.OpenFile(p.logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	defer log.Close()
	p.cmd.Stdout, p.cmd.Stderr = log, log
	// A Ctrl-C is for the tests, which stop the component in its turn.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	gomega.Expect(p.cmd.Start()).To(gomega.Succeed(), "start %s", p.name)
	done := make(chan struct{})
	p.done = done
	go func(cmd *exec.Cmd) {
		// A component that was told to stop may have any exit code; the state has it.
		_ = cmd.Wait()
		close(done)
	}(p.cmd)

	gomega.Eventually(func() error {
		if p.ended() {
			return gomega.StopTrying(fmt.Sprintf("%s ended: %v\n%s", p.name, p.cmd.ProcessState, tail(p.logFile)))
		}
		return ready()
	}).WithTimeout(readyWithin).WithPolling(100*time.Millisecond).Should(gomega.Succeed(), "%s is not ready", p.name)
}

// Stop ends the process, with SIGTERM and after a while with SIGKILL, and waits until it is gone.
func (p *Process) Stop() {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if p.ended() {
			return
		}
		// The process may end between the question and the signal.
		_ = p.cmd.Process.Signal(signal)
		select {
		case <-p.done:
			return
		case <-time.After(stopWithin):
		}
	}
}

func (p *Process) ended() bool {
	if p.done == nil {
		return true
	}
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// PrintLog writes the end of a log file, if there is one, to the report of the running spec.
func PrintLog(file string) {
	ginkgo.GinkgoWriter.Printf("--- the end of %s\n%s\n", file, tail(file))
}

// tail returns the last lines of a log file, or why there are none.
func tail(file string) string {
	log, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(log), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}

// Output runs a program to its end and returns what it wrote to stdout. When it fails, so does the
// spec, with what it wrote to stderr.
func Output(cmd *exec.Cmd) string {
	ginkgo.GinkgoHelper()
	stdout, err := TryOutput(cmd)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return stdout
}

// TryOutput is Output for programs that may fail. The error holds both outputs.
func TryOutput(cmd *exec.Cmd) (string, error) {
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("run %s: %w\nstdout: %s\nstderr: %s",
			strings.Join(cmd.Args, " "), err, stdout.String(), stderr.String())
	}
	return stdout.String(), nil
}
