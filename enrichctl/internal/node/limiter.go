// SPDX-License-Identifier: Apache-2.0

package node

import "time"

// A fight is more than burst writes of ours within a window; from then on there is
// one in every pause.
const (
	burst  = 5
	window = time.Minute
	pause  = 10 * time.Second
)

// limiter bounds how often one file is written. Two agents that both insist would
// otherwise write for ever, and every write makes the runtime reload.
type limiter struct{ writes []time.Time }

// wait gives the time until the next write is due; 0 means now.
func (l *limiter) wait(now time.Time) time.Duration {
	if !l.contended(now) {
		return 0
	}
	return max(0, l.writes[len(l.writes)-1].Add(pause).Sub(now))
}

// contended reports whether somebody keeps undoing our writes.
func (l *limiter) contended(now time.Time) bool {
	recent := 0
	for _, t := range l.writes {
		if now.Sub(t) < window {
			recent++
		}
	}
	return recent >= burst
}

func (l *limiter) wrote(now time.Time) {
	l.writes = append(l.writes, now)
	// More than one window's worth of writes is never looked at.
	if keep := burst + int(window/pause); len(l.writes) > keep {
		l.writes = l.writes[len(l.writes)-keep:]
	}
}
