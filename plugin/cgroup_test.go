// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"
)

// memoryGroups makes memory cgroups in parent.
type memoryGroups struct {
	parent string
	v1     bool
}

// newMemoryGroups finds a place for groups: in the suite's own, or in the nearest
// above it whose groups have limits, since in version 2 a group with processes has
// none. It skips the spec where this user may make no group.
func newMemoryGroups() memoryGroups {
	GinkgoHelper()
	own, err := os.ReadFile("/proc/self/cgroup")
	Expect(err).NotTo(HaveOccurred())
	why := []string{}
	for line := range strings.Lines(string(own)) {
		// Hierarchy, controllers, path; version 2 is hierarchy 0.
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		g, root := memoryGroups{}, "/sys/fs/cgroup"
		if slices.Contains(strings.Split(fields[1], ","), "memory") {
			g.v1, root = true, "/sys/fs/cgroup/memory"
		} else if fields[0] != "0" {
			continue
		}
		var stat unix.Statfs_t
		err := unix.Statfs(root, &stat)
		if err != nil || g.v1 && stat.Type != unix.CGROUP_SUPER_MAGIC || !g.v1 && stat.Type != unix.CGROUP2_SUPER_MAGIC {
			why = append(why, root+" is no such hierarchy")
			continue
		}
		// In a container the path may be one of the host's.
		for path := filepath.Clean("/" + fields[2]); ; path = filepath.Dir(path) {
			g.parent = filepath.Join(root, path)
			group, err := g.make()
			if err == nil {
				Expect(os.Remove(group)).To(Succeed())
				return g
			}
			why = append(why, err.Error())
			if path == "/" {
				break
			}
		}
	}
	Skip("no memory cgroup can be made: " + strings.Join(why, "; "))
	return memoryGroups{}
}

// limits are the files that limit memory, and those that keep swap from making
// up for it. The latter are there where the kernel accounts swap.
func (g memoryGroups) limits(bytes string) (limit string, swap map[string]string) {
	if g.v1 {
		return "memory.limit_in_bytes", map[string]string{"memory.swappiness": "0", "memory.memsw.limit_in_bytes": bytes}
	}
	return "memory.max", map[string]string{"memory.swap.max": "0"}
}

// make gives a new group, or an error where its groups have no limits.
func (g memoryGroups) make() (group string, err error) {
	group, err = os.MkdirTemp(g.parent, "result-enricher-")
	if err != nil {
		return "", fmt.Errorf("make a group: %w", err)
	}
	limit, _ := g.limits("")
	if err := unix.Access(filepath.Join(group, limit), unix.W_OK); err != nil {
		return "", errors.Join(fmt.Errorf("limit the groups of %s: %w", g.parent, err), os.Remove(group))
	}
	return group, nil
}

// run starts the plugin in a group of its own with the limit, and tells whether
// the kernel had to kill there.
func (g memoryGroups) run(kibibytes int, env map[string]string, stdin string) (a answer, killed bool) {
	GinkgoHelper()
	group, err := g.make()
	Expect(err).NotTo(HaveOccurred())
	// The kernel may take a moment to see that the processes are gone.
	defer func() { Eventually(os.Remove).WithArguments(group).WithTimeout(patience).Should(Succeed()) }()
	set := func(file, value string) {
		GinkgoHelper()
		Expect(os.WriteFile(filepath.Join(group, file), []byte(value), 0)).To(Succeed())
	}
	bytes := strconv.Itoa(kibibytes << 10)
	limit, swap := g.limits(bytes)
	set(limit, bytes)
	for file, value := range swap {
		if _, err := os.Stat(filepath.Join(group, file)); err == nil {
			set(file, value)
		}
	}
	a = shell(fmt.Sprintf(`echo $$ >'%s/cgroup.procs' && exec "$0"`, group)).run(env, stdin)
	return a, g.kills(group) > 0
}

// kills counts what the kernel killed for want of memory.
func (g memoryGroups) kills(group string) int {
	GinkgoHelper()
	file := "memory.events"
	if g.v1 {
		file = "memory.oom_control"
	}
	text, err := os.ReadFile(filepath.Join(group, file))
	Expect(err).NotTo(HaveOccurred())
	for line := range strings.Lines(string(text)) {
		if count, ok := strings.CutPrefix(line, "oom_kill "); ok {
			kills, err := strconv.Atoi(strings.TrimSpace(count))
			Expect(err).NotTo(HaveOccurred())
			return kills
		}
	}
	Fail(file + " counts no kills: " + string(text))
	return 0
}

// torn tells the beginning of a document that takes several pages of a pipe. The
// kernel charges those to the group of the writer, and so may kill it within its
// one write. The exit code says then that there is no Result.
func torn(stdout, whole string) bool {
	return len(whole) > os.Getpagesize() && strings.HasPrefix(whole, stdout)
}

var _ = Describe("a memory cgroup that is too small", func() {
	DescribeTable("ends the plugin, or does it no harm",
		func(prev string, kibibytes int) {
			groups := newMemoryGroups()
			ns, _ := faultyPod()
			env, stdin := environment("ADD", ns.Path), conf("0.3.1", "", prev)
			whole := start(env, stdin)
			Expect(whole.code).To(Equal(0))
			Expect(whole.stdout).To(ContainSubstring(podLink.MAC))

			var sweep []string
			ends := map[end]int{}
			for fits := 0; fits < 4; kibibytes += max(64, kibibytes/12) {
				By(fmt.Sprintf("%d KiB", kibibytes))
				Expect(kibibytes).To(BeNumerically("<", 1<<20), "some limit is enough: %v", sweep)
				a, killed := groups.run(kibibytes, env, stdin)
				Expect(killed || a.code != -1).To(BeTrue(), "nothing else kills it")
				e := died
				if a.code != -1 || !torn(a.stdout, whole.stdout) {
					e = endOf(a, prev, func() string { return whole.stdout })
				}
				if ends[e]++; e == repaired {
					fits++
				}
				sweep = append(sweep, fmt.Sprintf("%d KiB: %s", kibibytes, e))
			}
			AddReportEntry("memory", strings.Join(sweep, "\n"))
			Expect(sweep[0]).To(HaveSuffix(string(died)), "the limit is felt")
		},
		Entry("for a Result of Calico", calico, 256),
		Entry("for a large Result", large(), 1<<10),
	)
})
