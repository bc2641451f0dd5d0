// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// plain is the conflist of a primary, rewritten with another MTU every time.
const plain = `{"name":"k8s-pod-network","cniVersion":"1.0.0","plugins":[{"type":"tuning","mtu":%d}]}`

// node is a node's CNI directories with an installer that keeps the entry in place.
type node struct {
	conf, list string
	installer  *exec.Cmd
	stderr     bytes.Buffer
}

// startNode makes the directories below dir and starts the installer.
func startNode(dir, bin string) (*node, error) {
	root, err := os.MkdirTemp(dir, "node-")
	if err != nil {
		return nil, fmt.Errorf("make a node: %w", err)
	}
	n := &node{conf: filepath.Join(root, "net.d")}
	n.list = filepath.Join(n.conf, "10-calico.conflist")
	bins := filepath.Join(root, "bin")
	for _, d := range []string{n.conf, bins} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return nil, fmt.Errorf("make a node: %w", err)
		}
	}
	if err := os.Symlink(filepath.Join(bin, "tuning"), filepath.Join(bins, "tuning")); err != nil {
		return nil, fmt.Errorf("make a node: %w", err)
	}
	if err := n.rewrite(1400); err != nil {
		return nil, err
	}
	n.installer = exec.Command(filepath.Join(bin, "enrichctl"), "install", "--watch", "--cni-conf-dir", n.conf, "--cni-bin-dir", bins,
		"--plugin-binary", filepath.Join(bin, "result-enricher"))
	n.installer.Stderr = &n.stderr
	if err := n.installer.Start(); err != nil {
		return nil, fmt.Errorf("start the installer: %w", err)
	}
	return n, nil
}

// rewrite puts the primary's list in place by a rename, as a careful primary does.
func (n *node) rewrite(mtu int) error {
	if err := os.WriteFile(n.list+".tmp", fmt.Appendf(nil, plain, mtu), 0o600); err != nil {
		return fmt.Errorf("write the primary's list: %w", err)
	}
	if err := os.Rename(n.list+".tmp", n.list); err != nil {
		return fmt.Errorf("write the primary's list: %w", err)
	}
	return nil
}

// healed waits for the entry in the list.
func (n *node) healed() error {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(200 * time.Microsecond) {
		list, err := os.ReadFile(n.list)
		if err == nil && bytes.Contains(list, []byte("result-enricher")) {
			return nil
		}
	}
	return fmt.Errorf("the entry did not come back: %s", n.stderr.String())
}

func (n *node) stop() error {
	return errors.Join(n.installer.Process.Signal(unix.SIGTERM), n.installer.Wait())
}

// watch is the table of keeping the entry in place.
func watch(w io.Writer, dir string, _ int) error {
	// A node heals five times a minute at once, the first insertion included.
	const samples, each = 200, 4
	var times []time.Duration
	for len(times) < samples {
		n, err := startNode(dir, dir)
		if err != nil {
			return err
		}
		if err := n.healed(); err != nil {
			return errors.Join(err, n.stop())
		}
		for i := range each {
			if err := n.rewrite(1401 + i); err != nil {
				return errors.Join(err, n.stop())
			}
			start := time.Now()
			if err := n.healed(); err != nil {
				return errors.Join(err, n.stop())
			}
			times = append(times, time.Since(start))
		}
		if err := n.stop(); err != nil {
			return fmt.Errorf("stop the installer: %w", err)
		}
	}
	slices.Sort(times)
	fmt.Fprintf(w, "enrichctl install --watch\n\n")
	fmt.Fprintf(w, "  from a rewrite to the entry, %d times: median %s ms, slowest %s ms\n", len(times), ms(times[len(times)/2]), ms(times[len(times)-1]))
	return idle(w, dir)
}

// idle is what an installer costs that has nothing to do.
func idle(w io.Writer, dir string) error {
	n, err := startNode(dir, dir)
	if err != nil {
		return err
	}
	if err := n.healed(); err != nil {
		return errors.Join(err, n.stop())
	}
	const period = 20 * time.Second
	time.Sleep(time.Second)
	before, err := n.cpu()
	if err != nil {
		return errors.Join(err, n.stop())
	}
	time.Sleep(period)
	after, err := n.cpu()
	if err != nil {
		return errors.Join(err, n.stop())
	}
	memory, err := n.memory()
	if err != nil {
		return errors.Join(err, n.stop())
	}
	fmt.Fprintf(w, "  idle for %v: %v of cpu time, %s resident\n", period, after-before, memory)
	return n.stop()
}

// cpu is the processor time that the installer has used, in ticks of 10 ms.
func (n *node) cpu() (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n.installer.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("read the installer's times: %w", err)
	}
	// Fields 14 and 15 (proc_pid_stat), counted from behind the name's bracket.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	user, errUser := strconv.Atoi(fields[11])
	system, errSystem := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond, errors.Join(errUser, errSystem)
}

func (n *node) memory() (string, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.installer.Process.Pid))
	if err != nil {
		return "", fmt.Errorf("read the installer's memory: %w", err)
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			return strings.TrimSpace(value), nil
		}
	}
	return "", errors.New("read the installer's memory: no VmRSS")
}
