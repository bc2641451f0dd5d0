// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/result-enricher/result-enricher/internal/podns"
)

// Bounds are ratios of the medians of processor time.
const (
	boundTuning = 0.95 // ADD to that of the reference plugin tuning
	boundEmpty  = 1.5  // ADD to an empty Go program
	boundDEL    = 1.15 // DEL, GC and STATUS to an empty Go program
)

// broken is a Result as Calico up to v3.30 gives it, right what it should be.
const (
	broken = `{"cniVersion":"1.1.0","interfaces":[{"name":"cali0"}],"ips":[{"address":"192.0.2.10/32"}]}`
	right  = `{"cniVersion":"1.1.0","interfaces":[{"name":"cali0"},{"name":"eth0","mac":"%s","mtu":%d,"sandbox":"%s"}],"ips":[{"address":"192.0.2.10/32","interface":1}]}`
)

func emptyProgram(dir string) program {
	return program{name: "empty Go program", path: filepath.Join(dir, "empty")}
}

// call is a program with the environment of a CNI command.
func call(dir, binary, command, netns, prevResult string) program {
	return program{
		name: binary + " " + command,
		path: filepath.Join(dir, binary),
		env: []string{
			"CNI_COMMAND=" + command, "CNI_CONTAINERID=bench", "CNI_NETNS=" + netns, "CNI_IFNAME=eth0", "CNI_PATH=" + dir,
		},
		stdin: fmt.Sprintf(`{"cniVersion":"1.1.0","name":"bench","type":%q,"prevResult":%s}`, binary, prevResult),
	}
}

// commands is the table of the plugin's commands beside other programs.
func commands(w io.Writer, dir string, rounds int) error {
	pod, err := newPod("bench-commands", 1, 1)
	if err != nil {
		return err
	}
	defer pod.Close()
	mac, mtu, err := podLink(pod)
	if err != nil {
		return err
	}
	done := fmt.Sprintf(right, mac, mtu, pod.Path)
	others := []program{
		emptyProgram(dir),
		call(dir, "passthrough", "ADD", pod.Path, broken),
		call(dir, "tuning", "ADD", pod.Path, broken),
		call(dir, "sbr", "ADD", pod.Path, broken),
		call(dir, "bandwidth", "ADD", pod.Path, broken),
	}
	ours := []program{
		call(dir, "result-enricher", "ADD", pod.Path, broken),
		call(dir, "result-enricher", "ADD", pod.Path, done),
		call(dir, "result-enricher", "CHECK", pod.Path, done),
		call(dir, "result-enricher", "DEL", pod.Path, done),
		call(dir, "result-enricher", "GC", pod.Path, done),
		call(dir, "result-enricher", "STATUS", pod.Path, done),
		call(dir, "result-enricher", "VERSION", pod.Path, done),
	}
	ours[1].name += ", nothing to repair"
	var programs []program
	for _, p := range others {
		if _, err := p.run(); err != nil {
			fmt.Fprintf(w, "left out, since it does not run here: %v\n", err)
			continue
		}
		programs = append(programs, p)
	}
	programs = append(programs, ours...)
	costs, err := inTurnAsNew(programs, rounds)
	if err != nil {
		return err
	}
	memory, err := peaks(programs)
	if err != nil {
		return err
	}
	byName := map[string]cost{}
	for i, p := range programs {
		byName[p.name] = summarize(costs[i])
	}
	fmt.Fprintf(w, "Whole processes, in turn, medians of %d\n\n", rounds)
	printCommands(w, programs, byName, memory)
	printBounds(w, byName)
	binary, err := os.Stat(ours[0].path)
	if err != nil {
		return fmt.Errorf("measure the plugin's binary: %w", err)
	}
	fmt.Fprintf(w, "The plugin's binary has %.1f MB.\n\n", float64(binary.Size())/1e6)
	return nil
}

func printCommands(w io.Writer, programs []program, costs map[string]cost, memory []float64) {
	base, tuning := costs["empty Go program"].cpu, costs["tuning ADD"].cpu
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "cpu ms\tof empty\tof tuning\twall ms\tpeak MiB\t ")
	for i, p := range programs {
		c := costs[p.name]
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%.1f\t  %s\n", ms(c.cpu), ratio(c.cpu, base), ratio(c.cpu, tuning), ms(c.wall), memory[i], p.name)
	}
	t.Flush()
}

func printBounds(w io.Writer, costs map[string]cost) {
	fmt.Fprintln(w)
	for _, b := range []struct {
		of, to string
		bound  float64
	}{
		{"result-enricher ADD", "tuning ADD", boundTuning},
		{"result-enricher ADD", "empty Go program", boundEmpty},
		{"result-enricher DEL", "empty Go program", boundDEL},
		{"result-enricher GC", "empty Go program", boundDEL},
		{"result-enricher STATUS", "empty Go program", boundDEL},
	} {
		got := float64(costs[b.of].cpu) / float64(costs[b.to].cpu)
		verdict := "met"
		if got > b.bound {
			verdict = "missed"
		}
		fmt.Fprintf(w, "%-6s %-23s is %.2f of %s, bound %.2f\n", verdict, b.of, got, b.to, b.bound)
	}
	fmt.Fprintln(w)
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d.Microseconds())/1000) }

func ratio(a, b time.Duration) string {
	if b == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", float64(a)/float64(b))
}

// podLink tells what the pod's entry must say.
func podLink(pod *podns.NS) (mac string, mtu int, err error) {
	link, err := pod.Netlink.LinkByName("eth0")
	if err != nil {
		return "", 0, fmt.Errorf("find eth0: %w", err)
	}
	return link.Attrs().HardwareAddr.String(), link.Attrs().MTU, nil
}
