// SPDX-License-Identifier: Apache-2.0

package drivers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/result-enricher/result-enricher/internal/podns"
)

// asUser tells this test binary to be insideUserNamespace, with enrichctl's path.
const asUser = "RESULT_ENRICHER_E2E_AS_USER"

// insideUserNamespace makes a pod in namespaces that belong to a user namespace, and lets enrichctl explain it there.
func insideUserNamespace(program string) int {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ns, err := podns.New(filepath.Join(os.Getenv("TMPDIR"), "pod"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer ns.Close()
	veth := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "eth0"}, PeerName: "peer0"}
	addr, err := netlink.ParseAddr("10.135.153.140/32")
	if err == nil {
		err = ns.Netlink.LinkAdd(veth)
	}
	if err == nil {
		err = ns.Netlink.AddrAdd(veth, addr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	cmd := exec.Command(program, "explain", "--netns", ns.Path, "--result", "-")
	cmd.Stdin = strings.NewReader(`{"cniVersion":"1.0.0","interfaces":[{"name":"cali1"}],"ips":[{"address":"10.135.153.140/32"}]}`)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return cmd.ProcessState.ExitCode()
}

// inner gives a command that starts in a user namespace of its own.
func inner(cmd *exec.Cmd, others uintptr) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | others,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}},
	}
	return cmd
}

var _ = Describe("explain in a user namespace", func() {
	It("works on a pod of that namespace", func() {
		cmd := inner(exec.Command("/proc/self/exe"), unix.CLONE_NEWNET|unix.CLONE_NEWNS)
		cmd.Env = append(os.Environ(), asUser+"="+filepath.Join(binDir, "enrichctl"), "TMPDIR="+GinkgoT().TempDir())
		out, err := cmd.CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), string(out))
		Expect(string(out)).To(And(
			ContainSubstring("R6 interfaces[1] appended"), ContainSubstring("Faults of the consumers: 4 before, 0 after.")))
	})

	It("says that a pod of another may not be entered", func() {
		ns := newPod("foreign")
		cmd := inner(exec.Command(filepath.Join(binDir, "enrichctl"), "explain", "--netns", ns.Path, "--result", "-"), 0)
		cmd.Stdin = strings.NewReader("{}")
		out, err := cmd.CombinedOutput()
		Expect(err).To(HaveOccurred())
		Expect(cmd.ProcessState.ExitCode()).To(Equal(1))
		Expect(string(out)).To(And(ContainSubstring("not permitted"), ContainSubstring("is this root?")))
	})
})
