// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"

	"github.com/result-enricher/result-enricher/enrichctl/internal/metrics"
	"github.com/result-enricher/result-enricher/enrichctl/internal/node"
)

var _ = Describe("Metrics", func() {
	var now time.Time
	var m *metrics.Metrics

	get := func(path string) (int, string) {
		recorder := httptest.NewRecorder()
		m.Handler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, path, nil))
		return recorder.Code, recorder.Body.String()
	}
	text := func() string {
		code, body := get("/metrics")
		ExpectWithOffset(1, code).To(Equal(http.StatusOK))
		return body
	}
	BeforeEach(func() {
		now = time.Unix(1_700_000_000, 500_000_000)
		m = metrics.New(func() time.Time { return now })
	})

	It("tells what the last pass found", func() {
		m.Record(node.Outcome{Done: true, Present: true, Inserted: 1, Restored: 2})
		Expect(text()).To(SatisfyAll(
			ContainSubstring("enrichctl_entry_present 1\n"),
			ContainSubstring("enrichctl_last_reconcile_timestamp_seconds 1.7000000005e+09\n"),
			ContainSubstring("enrichctl_binary_restorations_total 2\n"),
			ContainSubstring("enrichctl_contended 0\n"),
			ContainSubstring("enrichctl_reinsertions_total 0\n"),
		))
		m.Record(node.Outcome{Contended: true})
		Expect(text()).To(SatisfyAll(ContainSubstring("enrichctl_entry_present 0\n"), ContainSubstring("enrichctl_contended 1\n")))
	})

	It("counts what was put back, not what was put in first", func() {
		m.Record(node.Outcome{Done: true, Present: true, Inserted: 1})
		m.Record(node.Outcome{Done: true, Present: true, Inserted: 1})
		Expect(text()).To(ContainSubstring("enrichctl_reinsertions_total 1\n"))
	})

	It("counts a refusal when it begins, by its reason, and no notes", func() {
		refused := node.Outcome{Problems: []*node.Problem{{Code: "json-invalid"}, {Code: "neighbour-broken", Note: true}}}
		m.Record(refused)
		m.Record(refused)
		Expect(text()).To(SatisfyAll(
			ContainSubstring(`enrichctl_refusals_total{reason="json-invalid"} 1`), Not(ContainSubstring("neighbour-broken")),
		))
		m.Record(node.Outcome{Done: true})
		m.Record(refused)
		Expect(text()).To(ContainSubstring(`enrichctl_refusals_total{reason="json-invalid"} 2`))
	})

	It("is ready only when all is in place", func() {
		ready := func() int { code, _ := get("/readyz"); return code }
		Expect(ready()).To(Equal(http.StatusServiceUnavailable))
		m.Record(node.Outcome{Done: true, Present: true})
		Expect(ready()).To(Equal(http.StatusOK))
		m.Record(node.Outcome{Present: true})
		Expect(ready()).To(Equal(http.StatusServiceUnavailable))
	})

	It("is healthy as long as passes are made", func() {
		healthy := func() int { code, _ := get("/healthz"); return code }
		Expect(healthy()).To(Equal(http.StatusOK))
		now = now.Add(4 * time.Minute)
		Expect(healthy()).To(Equal(http.StatusServiceUnavailable))
		m.Record(node.Outcome{})
		Expect(healthy()).To(Equal(http.StatusOK))
	})
})

var _ = DescribeTable("ParseAddress",
	func(text, want string) {
		address, err := metrics.ParseAddress(text)
		if want == "" {
			Expect(err).To(HaveOccurred())
			return
		}
		Expect(err).NotTo(HaveOccurred())
		Expect(address).To(Equal(want))
	},
	Entry(nil, ":9470", "127.0.0.1:9470"),
	Entry(nil, "9470", "127.0.0.1:9470"),
	Entry(nil, "0.0.0.0:9470", "0.0.0.0:9470"),
	Entry(nil, "[::1]:9470", "[::1]:9470"),
	Entry("no port", "localhost", ""),
	Entry("a port that is none", ":70000", ""),
	Entry("a name for a port", ":http", ""),
	Entry("nothing", "", ""),
)

var _ = Describe("Serve", func() {
	start := func(address string) *gbytes.Buffer {
		log := gbytes.NewBuffer()
		ctx, cancel := context.WithCancel(context.Background())
		var done sync.WaitGroup
		done.Go(func() {
			metrics.Serve(ctx, address, metrics.New(time.Now).Handler(), slog.New(slog.NewTextHandler(log, nil)))
		})
		DeferCleanup(func() {
			cancel()
			done.Wait()
		})
		return log
	}

	It("answers on its address", func() {
		log := start("127.0.0.1:0")
		Eventually(log).Should(gbytes.Say(`serving metrics`))
		address := regexp.MustCompile(`address=(\S+)`).FindSubmatch(log.Contents())
		Expect(address).NotTo(BeNil())
		answer, err := http.Get(fmt.Sprintf("http://%s/healthz", address[1]))
		Expect(err).NotTo(HaveOccurred())
		defer answer.Body.Close()
		Expect(io.ReadAll(answer.Body)).To(BeEquivalentTo("ok\n"))
	})

	It("says so when the port is taken, and goes on", func() {
		taken, err := net.Listen("tcp", "127.0.0.1:0")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(taken.Close)
		log := start(taken.Addr().String())
		Eventually(log).Should(gbytes.Say(`cannot serve metrics; the work goes on.*address already in use.*--metrics-address`))
	})
})
