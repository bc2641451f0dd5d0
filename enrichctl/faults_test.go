// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"
)

// install is what the scripts run; it keeps the code and goes on.
const install = `install() { code=0; "$ENRICHCTL" install --cni-conf-dir "$CONF" --cni-bin-dir "$BIN" "$@" || code=$?; }
`

var _ = Describe("a node on which things go wrong", func() {
	var l *lab
	BeforeEach(func() {
		l = newLab()
		l.has("10-calico.conflist", calico)
	})

	It("has a full disk: the conflist stays, nothing is left, and it is said", func() {
		s := l.inRoom(install + `
cp "$CONF/10-calico.conflist" "$ROOT/kept"
mount -t tmpfs -o size=16k tmpfs "$CONF"
cp "$ROOT/kept" "$CONF/10-calico.conflist"
cat /dev/zero > "$CONF/filler" 2>/dev/null || true
install
echo "code $code"; ls "$CONF"; cmp "$CONF/10-calico.conflist" "$ROOT/kept"
rm "$CONF/filler"
install
echo "code $code"; ls "$CONF"; cat "$CONF/10-calico.conflist"`)
		Expect(stdout(s)).To(Equal("code 1\n10-calico.conflist\nfiller\n" +
			"The next pod gets a repaired Result: result-enricher runs in " + l.list() + " with calico, portmap.\n" +
			"code 0\n10-calico.conflist\n" + enriched))
		Expect(stderr(s)).To(SatisfyAll(ContainSubstring("no space left on device"), ContainSubstring("free some space")))
	})

	It("has no room for the binary: the conflist is not touched", func() {
		s := l.inRoom(install + `
mount -t tmpfs -o size=64k tmpfs "$BIN"
touch "$BIN/calico"
install
echo "code $code"; ls "$BIN"`)
		Expect(stdout(s)).To(Equal("code 1\ncalico\n"))
		Expect(stderr(s)).To(SatisfyAll(ContainSubstring("bin-dir-unusable"), ContainSubstring("no space left on device")))
		Expect(read(l.list())).To(Equal(calico))
	})

	It("has a read-only configuration directory", func() {
		s := l.inRoom(install + `
mount --bind "$CONF" "$CONF"; mount -o remount,bind,ro "$CONF"
install
echo "code $code"; ls "$CONF"`)
		Expect(stdout(s)).To(Equal("code 1\n10-calico.conflist\n"))
		Expect(stderr(s)).To(SatisfyAll(ContainSubstring("read-only file system"), ContainSubstring("hostPath")))
		Expect(read(l.list())).To(Equal(calico))
	})

	It("has a read-only binary directory: good with an equal binary, else the conflist is not touched", func() {
		const readOnly = `mount --bind "$BIN" "$BIN"; mount -o remount,bind,ro "$BIN"
`
		s := l.inRoom(install + readOnly + `install; echo "code $code"`)
		Expect(stdout(s)).To(Equal("code 1\n"))
		Expect(stderr(s)).To(SatisfyAll(ContainSubstring("read-only file system"), ContainSubstring(l.bin)))
		Expect(read(l.list())).To(Equal(calico))

		l.inRoom(install + `install; cp "$ROOT/kept" "$CONF/10-calico.conflist" 2>/dev/null || true`)
		l.renames(calico)
		s = l.inRoom(install + readOnly + `install; echo "code $code"`)
		Expect(stdout(s)).To(HaveSuffix("code 0\n"))
		Expect(read(l.list())).To(Equal(enriched))
	})

	It("loses the binary and cannot have it back: the entry goes until it can", func() {
		s := l.start(l.room(false, `
"$ENRICHCTL" install --cni-conf-dir "$CONF" --cni-bin-dir "$BIN"
mount --bind "$BIN" "$BIN"; mount -o remount,bind,ro "$BIN"
exec "$ENRICHCTL" install --watch --cni-conf-dir "$CONF" --cni-bin-dir "$BIN"`))
		Eventually(s.Err).Should(gbytes.Say("watching"))
		Eventually(s.Out).Should(gbytes.Say("The next pod gets[^\n]*\nThe next pod gets"), "both have made their first pass")
		Expect(os.Rename(l.plugin(), l.plugin()+".away")).To(Succeed())
		Eventually(reader(l.list())).Should(Equal(calico))
		Eventually(s.Err).Should(gbytes.Say("bin-dir-unusable"))
		Expect(os.Rename(l.plugin()+".away", l.plugin())).To(Succeed())
		Eventually(reader(l.list())).Should(Equal(enriched))
	})

	It("has no inotify: it looks every few seconds, and says so", func() {
		s := l.start(l.room(true, `
echo 0 > /proc/sys/user/max_inotify_instances
exec "$ENRICHCTL" install --watch --cni-conf-dir "$CONF" --cni-bin-dir "$BIN"`))
		Eventually(reader(l.list())).Should(Equal(enriched))
		Expect(stderr(s)).To(ContainSubstring("no inotify"))
		l.renames(calico)
		Eventually(reader(l.list())).Should(Equal(enriched))
		Eventually(s.Terminate()).Should(gexec.Exit(0))
	})

	It("has a directory that was deleted and is still mounted: the process ends with 1", func() {
		s := l.start(l.room(false, `
mkdir "$ROOT/mounted"; mount --bind "$CONF" "$ROOT/mounted"
exec "$ENRICHCTL" install --watch --cni-conf-dir "$ROOT/mounted" --cni-bin-dir "$BIN"`))
		Eventually(reader(l.list())).Should(Equal(enriched))
		Expect(os.RemoveAll(l.conf)).To(Succeed())
		Eventually(s).Should(gexec.Exit(1))
		Expect(stderr(s)).To(SatisfyAll(ContainSubstring("deleted"), ContainSubstring("mounted")))
	})

	It("has a link that leads out of the container's mount", func() {
		// The primary's file is where the container does not see it.
		s := l.inRoom(install + `
mkdir "$ROOT/real"; mv "$CONF/10-calico.conflist" "$ROOT/real/list"; ln -s "$ROOT/real/list" "$CONF/10-calico.conflist"
mount -t tmpfs tmpfs "$ROOT/real"
install
echo "code $code"; ls "$CONF"`)
		Expect(stdout(s)).To(Equal("code 1\n10-calico.conflist\n"))
		Expect(stderr(s)).To(ContainSubstring("mount the directory " + l.root + "/real"))
	})

	It("has a primary that writes in place while install runs: its last write is never lost", func() {
		rounds := knob("ENRICHCTL_ROUNDS", 20)
		for n := range rounds {
			before, _ := version(2 * n)
			after, with := version(2*n + 1)
			l.renames(before)
			var primary sync.WaitGroup
			primary.Go(func() {
				defer GinkgoRecover()
				<-time.After(rand.N(15 * time.Millisecond))
				file, err := os.OpenFile(l.list(), os.O_WRONLY|os.O_TRUNC, 0)
				Expect(err).NotTo(HaveOccurred())
				defer file.Close()
				for piece := range slices.Chunk([]byte(after), len(after)/3+1) {
					_, err := file.Write(piece)
					Expect(err).NotTo(HaveOccurred())
					<-time.After(rand.N(3 * time.Millisecond))
				}
			})
			s := l.start(l.command(l.args("install")...))
			Eventually(s).Should(gexec.Exit())
			primary.Wait()
			Expect(read(l.list())).To(Or(Equal(after), Equal(with)), fmt.Sprintf("round %d", n))
			Expect(names(l.conf)).To(ConsistOf("10-calico.conflist"))
		}
	})
})
