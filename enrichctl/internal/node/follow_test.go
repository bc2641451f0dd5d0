// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"os"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
)

var _ = Describe("An owner that has the conflist open while it is replaced", func() {
	var m *machine
	var in *Installer
	var path string
	var owner *os.File
	ctx := context.Background()
	newer := strings.Replace(calico, "pods", "newer-pods", 1)
	newerEnriched := strings.Replace(enriched, "pods", "newer-pods", 1)

	BeforeEach(func() {
		m = newMachine()
		in = m.installer()
		path = m.has("10-calico.conflist", calico)
		var err error
		owner, err = os.OpenFile(path, os.O_RDWR, 0)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { owner.Close() })
		Expect(in.Pass(ctx).Inserted).To(Equal(1))
		DeferCleanup(func() { in.Settle(canceled()) })
	})
	write := func(at int64, text string) {
		GinkgoHelper()
		_, err := owner.WriteAt([]byte(text), at)
		Expect(err).NotTo(HaveOccurred())
	}
	// poll looks at what is due and lets the time until the next look pass.
	poll := func() bool {
		next, active := in.Follow(ctx)
		m.clock.advance(next)
		return active
	}

	It("loses nothing of what it writes afterwards", func() {
		Expect(poll()).To(BeTrue())
		write(0, newer)
		Expect(poll()).To(BeTrue())
		Expect(read(path)).To(Equal(newerEnriched))
		Expect(m.log).To(gbytes.Say("took over what the owner wrote"))
		Expect(names(m.conf)).To(HaveLen(1))
	})

	It("may take its time, and write in pieces", func() {
		Expect(owner.Truncate(0)).To(Succeed())
		for at := 0; at < len(newer); at += 20 {
			write(int64(at), newer[at:min(len(newer), at+20)])
			for range 5 {
				Expect(poll()).To(BeTrue())
			}
			if at+20 < len(newer) {
				Expect(read(path)).To(Equal(enriched), "half a file is not taken over")
			}
		}
		Eventually(poll).Should(BeTrue())
		Expect(read(path)).To(Equal(newerEnriched))
	})

	It("is followed for as long as it has the file open, and a moment longer", func() {
		for range 100 {
			Expect(poll()).To(BeTrue())
		}
		Expect(owner.Close()).To(Succeed())
		Eventually(poll).Should(BeFalse())
	})

	It("does not win over one that has written the conflist since", func() {
		m.has("10-calico.conflist", strings.Replace(enriched, "pods", "third", 1))
		write(0, newer)
		poll()
		Expect(read(path)).To(Equal(strings.Replace(enriched, "pods", "third", 1)))
		Expect(poll()).To(BeFalse())
	})

	It("does not make us write more often than a fight allows", func() {
		for n := range 4 {
			write(0, strings.Replace(calico, "pods", "po"+string(rune('a'+n))+"s", 1))
			for range 3 { // the replaced files are looked at in turn
				Expect(poll()).To(BeTrue())
			}
		}
		Expect(read(path)).To(ContainSubstring(`"pods"`), "the last of five writes")
		write(0, strings.Replace(calico, "pods", "last", 1))
		for range 9 {
			in.Follow(ctx)
			m.clock.advance(time.Second)
		}
		Expect(read(path)).To(ContainSubstring(`"pods"`))
		m.clock.advance(2 * time.Second)
		poll()
		Expect(read(path)).To(Equal(strings.Replace(enriched, "pods", "last", 1)))
	})

	It("is told of when it leaves something that is no conflist", func() {
		Expect(owner.Truncate(20)).To(Succeed())
		Expect(poll()).To(BeTrue())
		Expect(owner.Close()).To(Succeed())
		Eventually(poll).Should(BeFalse())
		Expect(m.log).To(gbytes.Say("left something in the replaced file that cannot be edited"))
		Expect(read(path)).To(Equal(enriched))
	})

	It("is waited for by a command, but not for ever", func() {
		limited, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		in.Settle(limited)
		Expect(m.log).To(gbytes.Say("still has the replaced file open for writing"))
		_, active := in.Follow(ctx)
		Expect(active).To(BeFalse())
	})
})
