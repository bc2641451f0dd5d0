// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// program is one call of a binary, as a runtime makes it.
type program struct {
	name  string
	path  string
	env   []string
	stdin string
}

// cost is what one run of a program took.
type cost struct {
	cpu, wall time.Duration
}

// run starts the program and waits for it. A program that fails is an error: the
// cost of an error is not what the table says.
func (p program) run() (cost, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(p.path)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = p.env, strings.NewReader(p.stdin), &stdout, &stderr
	start := time.Now()
	err := cmd.Run()
	wall := time.Since(start)
	if err != nil {
		return cost{}, fmt.Errorf("run %s: %w: %s%s", p.name, err, stdout.String(), stderr.String())
	}
	return cost{cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), wall: wall}, nil
}

// inTurn runs the programs one after the other, rounds times, after some runs that
// do not count. The costs are those of programs[i] at i.
func inTurn(programs []program, rounds int) ([][]cost, error) {
	costs := make([][]cost, len(programs))
	const warmUp = 5
	for round := range warmUp + rounds {
		for i, p := range programs {
			c, err := p.run()
			if err != nil {
				return nil, err
			}
			if round >= warmUp {
				costs[i] = append(costs[i], c)
			}
		}
	}
	return costs, nil
}

// inTurnAsNew is inTurn with new copies of the programs for every fifth of the
// rounds. How large the pieces are in which the kernel caches and maps a file is
// decided when it is written, and by chance; it makes up to a tenth of what a start
// costs.
func inTurnAsNew(programs []program, rounds int) ([][]cost, error) {
	const copies = 5
	costs := make([][]cost, len(programs))
	for range copies {
		for _, p := range programs {
			if err := renew(p.path); err != nil {
				return nil, err
			}
		}
		some, err := inTurn(programs, rounds/copies)
		if err != nil {
			return nil, err
		}
		for i := range costs {
			costs[i] = append(costs[i], some[i]...)
		}
	}
	return costs, nil
}

// renew puts a copy into the place of a program.
func renew(path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read a program: %w", err)
	}
	if err := os.WriteFile(path+".new", content, 0o755); err != nil {
		return fmt.Errorf("copy a program: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("copy a program: %w", err)
	}
	return nil
}

// summarize gives the medians.
func summarize(costs []cost) cost {
	return cost{
		cpu:  median(costs, func(c cost) time.Duration { return c.cpu }),
		wall: median(costs, func(c cost) time.Duration { return c.wall }),
	}
}

func median(costs []cost, of func(cost) time.Duration) time.Duration {
	values := make([]time.Duration, len(costs))
	for i, c := range costs {
		values[i] = of(c)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// peaks are the medians of the programs' peak memory in MiB, over a few runs.
func peaks(programs []program) ([]float64, error) {
	medians := make([]float64, len(programs))
	for i, p := range programs {
		var kib []int64
		for range 5 {
			peak, err := p.peakMemory()
			if err != nil {
				return nil, err
			}
			kib = append(kib, peak)
		}
		slices.Sort(kib)
		medians[i] = float64(kib[len(kib)/2]) / 1024
	}
	return medians, nil
}
