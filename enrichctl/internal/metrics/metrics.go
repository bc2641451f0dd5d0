// SPDX-License-Identifier: Apache-2.0

// Package metrics tells Prometheus, and whoever asks /healthz and /readyz, how a
// watching enrichctl stands.
//
// It opens the one port it is given and reads nothing. The convention it relies on: a
// loop repeats its pass at least twice a minute and has every Outcome recorded here.
// Whatever happens to the port, the work goes on.
package metrics

import (
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/result-enricher/result-enricher/enrichctl/internal/node"
)

// stuckAfter is how long there may be no pass. The loop makes one every 30 s, and one may
// wait 30 s for each of a few locks.
const stuckAfter = 3 * time.Minute

// Metrics holds what was recorded.
type Metrics struct {
	now      func() time.Time
	registry *prometheus.Registry

	present, contended, lastPass prometheus.Gauge
	reinsertions, restorations   prometheus.Counter
	refusals                     *prometheus.CounterVec

	mu       sync.Mutex
	ready    bool
	wasThere bool
	last     time.Time
	// refused are the reasons of the last pass: one that lasts is counted once.
	refused map[string]bool
}

// New makes Metrics; now is time.Now but for tests.
func New(now func() time.Time) *Metrics {
	m := &Metrics{now: now, registry: prometheus.NewRegistry(), last: now()}
	gauge := func(name, help string) prometheus.Gauge {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Name: "enrichctl_" + name, Help: help})
		m.registry.MustRegister(g)
		return g
	}
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: "enrichctl_" + name, Help: help})
		m.registry.MustRegister(c)
		return c
	}
	m.present = gauge("entry_present", "1 when the conflist has the entry and every binary directory the plugin.")
	m.contended = gauge("contended", "1 while another agent keeps undoing the change.")
	m.lastPass = gauge("last_reconcile_timestamp_seconds", "When the node was looked at last, in seconds since 1970.")
	m.reinsertions = counter("reinsertions_total", "Entries put back after they had been there.")
	m.restorations = counter("binary_restorations_total", "Binaries put into a directory.")
	m.refusals = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "enrichctl_refusals_total", Help: "Reasons for not changing the node, by the code that status shows.",
	}, []string{"reason"})
	m.registry.MustRegister(m.refusals)
	return m
}

// Record takes in one pass.
func (m *Metrics) Record(out node.Outcome) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last = m.now()
	m.lastPass.Set(float64(m.last.UnixMilli()) / 1000)
	m.present.Set(number(out.Present))
	m.contended.Set(number(out.Contended))
	if m.wasThere {
		m.reinsertions.Add(float64(out.Inserted))
	}
	m.wasThere = m.wasThere || out.Present
	m.restorations.Add(float64(out.Restored))
	refused := map[string]bool{}
	for _, p := range out.Problems {
		if !p.Note && !m.refused[p.Code] && !refused[p.Code] {
			m.refusals.WithLabelValues(p.Code).Inc()
		}
		refused[p.Code] = refused[p.Code] || !p.Note
	}
	m.refused = refused
	m.ready = out.Done && out.Present
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Handler serves /metrics, /healthz and /readyz.
func (m *Metrics) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		m.mu.Lock()
		defer m.mu.Unlock()
		answer(w, m.now().Sub(m.last) < stuckAfter, "the loop is stuck: no pass for three minutes")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		m.mu.Lock()
		defer m.mu.Unlock()
		answer(w, m.ready, "pods that are started now do not get repaired Results: ask enrichctl status")
	})
	return mux
}

func answer(w http.ResponseWriter, good bool, reason string) {
	if !good {
		http.Error(w, reason, http.StatusServiceUnavailable)
		return
	}
	// The asker may have hung up; nobody is left to be told.
	_, _ = w.Write([]byte("ok\n"))
}
