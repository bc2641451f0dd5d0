// SPDX-License-Identifier: Apache-2.0

package stress

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// workers run ADDs at the same time. There are more than processors, so that ADDs are interrupted at any point.
const workers = 4

// patience is how long an ADD may take before it is called hung; its own deadline is 2 s.
const patience = time.Minute

// storm calls change in a loop while n ADDs run, and returns when all have ended.
func storm(n int, change func(), add func(i int)) {
	GinkgoHelper()
	var next atomic.Int64
	var running, changing sync.WaitGroup
	stop := make(chan struct{})
	changing.Go(func() {
		defer GinkgoRecover()
		for {
			select {
			case <-stop:
				return
			default:
				change()
			}
		}
	})
	for range workers {
		running.Go(func() {
			defer GinkgoRecover()
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				add(int(i))
			}
		})
	}
	running.Wait()
	close(stop)
	changing.Wait()
}

// outcome is what one ADD gave.
type outcome struct {
	stdout, stderr string
	code           int
	took           time.Duration
}

// add runs ADD in the namespace. Keys are those of the plugin's entry.
func add(netns, keys, prev string) outcome {
	GinkgoHelper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, binary)
	cmd.Env = []string{"CNI_COMMAND=ADD", "CNI_CONTAINERID=c-1", "CNI_NETNS=" + netns, "CNI_IFNAME=eth0"}
	cmd.Stdin = strings.NewReader(`{"cniVersion":"1.0.0","name":"net","type":"result-enricher"` + keys + `,"prevResult":` + prev + `}`)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	began := time.Now()
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		Expect(err).NotTo(HaveOccurred())
	}
	return outcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode(), time.Since(began)}
}

// result is what a spec looks at in a Result.
type result struct {
	Interfaces []struct {
		Name, Mac, Sandbox string
		Mtu                int
	}
	IPs []struct {
		Address, Gateway string
		Interface        *int
	}
}

// reasons are the ways not to repair that a storm may lead to.
var reasons = []string{
	"no link of that name", "while it was read", "the deadline", "read incompletely", "not the pod link's",
	"no such namespace", "not a network namespace", "no such link",
}

// tally counts how ADDs ended.
type tally struct {
	mu      sync.Mutex
	ends    map[string]int
	slowest time.Duration
}

func (t *tally) count(end string, o outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ends == nil {
		t.ends = map[string]int{}
	}
	t.ends[end]++
	t.slowest = max(t.slowest, o.took)
}

// report shows the counts.
func (t *tally) report() {
	var lines []string
	for _, end := range slices.Sorted(maps.Keys(t.ends)) {
		lines = append(lines, fmt.Sprintf("%6d %s", t.ends[end], end))
	}
	lines = append(lines, fmt.Sprintf("slowest ADD %v", t.slowest.Round(time.Millisecond)))
	AddReportEntry("ADDs", strings.Join(lines, "\n"))
}

const repaired = "repaired"

// judge holds an outcome to the promise. A Result that is not prevResult is given to right.
func (t *tally) judge(o outcome, prev string, right func(r result)) {
	GinkgoHelper()
	Expect(o.stderr).NotTo(ContainSubstring("panic"))
	Expect(o.took).To(BeNumerically("<", patience/2))
	switch {
	case o.code == 1:
		t.count("CNI error: "+cniError(o.stdout), o)
	case o.code != 0:
		Fail(fmt.Sprintf("exit code %d, stdout %q, stderr %q", o.code, o.stdout, o.stderr))
	case o.stdout == prev:
		t.count("handed on: "+warning(o.stderr), o)
	default:
		var r result
		Expect(json.Unmarshal([]byte(o.stdout), &r)).To(Succeed(), "one document: %s", o.stdout)
		right(r)
		t.count(repaired, o)
	}
}

// warning is the reason of the one record that an ADD leaves which hands prevResult on.
func warning(stderr string) string {
	GinkgoHelper()
	var record struct{ Level, Reason string }
	Expect(json.Unmarshal([]byte(stderr), &record)).To(Succeed(), "one record: %q", stderr)
	Expect(record.Level).To(Equal("WARN"), stderr)
	return known(record.Reason)
}

func cniError(stdout string) string {
	GinkgoHelper()
	var e struct {
		Code         int
		Msg, Details string
	}
	Expect(json.Unmarshal([]byte(stdout), &e)).To(Succeed(), "one document: %s", stdout)
	Expect(e.Code).To(BeElementOf(8, 11, 100), stdout)
	return known(e.Details)
}

func known(reason string) string {
	GinkgoHelper()
	for _, r := range reasons {
		if strings.Contains(reason, r) {
			return r
		}
	}
	Fail("an unexpected reason: " + reason)
	return ""
}

// policy makes every fourth ADD one with the policy "fail".
func policy(i int) string {
	if i%4 == 0 {
		return `,"failurePolicy":"fail"`
	}
	return ""
}
