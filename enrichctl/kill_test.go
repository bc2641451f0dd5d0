// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// The number of kills is small so that the suite is fast; a thousand: ENRICHCTL_KILLS=1000.
var _ = Describe("SIGKILL at any moment", func() {
	It("leaves the old conflist or the new one, a whole binary or none, and nothing that the next run does not remove", func() {
		l := newLab()
		l.has("10-calico.conflist", calico)
		whole := sha256.Sum256([]byte(read(filepath.Join(filepath.Dir(program), "result-enricher"))))
		// How long a whole run takes, without the binary and with it: the kills are spread over that.
		var took [2]time.Duration
		for n := range took {
			l.renames(calico)
			start := time.Now()
			Expect(l.command(l.args("install")...).Run()).To(Succeed())
			took[n] = time.Since(start)
		}

		var old, changed, withoutBinary, temps int
		for n := range knob("ENRICHCTL_KILLS", 30) {
			// Every second time there is an entry to take out; every third time the binary is missing.
			args, before := l.args("install"), calico
			if n%2 == 1 {
				args, before = l.args("uninstall"), enriched
			}
			l.renames(before)
			lasts := took[1]
			if n%3 == 0 {
				Expect(os.RemoveAll(l.plugin())).To(Succeed())
				lasts = took[0]
			}
			cmd := l.command(args...)
			Expect(cmd.Start()).To(Succeed())
			// More of them early, where the files are written, than late, where the outcome is printed.
			<-time.After(time.Duration(float64(rand.N(lasts)) * rand.Float64()))
			Expect(cmd.Process.Kill()).To(Succeed())
			_ = cmd.Wait() // killed, or done before that

			content := read(l.list())
			Expect(content).To(Or(Equal(calico), Equal(enriched)), "a torn conflist")
			if content == before {
				old++
			} else {
				changed++
			}
			if data, err := os.ReadFile(l.plugin()); err != nil {
				Expect(err).To(MatchError(os.ErrNotExist))
				Expect(content == enriched && n%2 == 0).To(BeFalse(), "the entry came before the binary")
				withoutBinary++
			} else {
				Expect(sha256.Sum256(data)).To(Equal(whole), "a torn binary")
			}
			if slices.ContainsFunc(append(names(l.conf), names(l.bin)...), isTemp) {
				temps++
			}
			Expect(l.command(l.args("install")...).Run()).To(Succeed())
			Expect(read(l.list())).To(Equal(enriched))
			Expect(names(l.conf)).To(ConsistOf("10-calico.conflist"))
			Expect(names(l.bin)).To(ConsistOf("calico", "portmap", "result-enricher"))
		}
		AddReportEntry("SIGKILLs", fmt.Sprintf("%d: conflist old %d, new %d, torn 0; binary missing %d, torn 0; left temporaries until the next run %d times, after it 0",
			old+changed, old, changed, withoutBinary, temps))
	})
})

func isTemp(name string) bool { return strings.Contains(name, ".result-enricher-tmp-") }
