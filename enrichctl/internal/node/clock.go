// SPDX-License-Identifier: Apache-2.0

package node

import "time"

// Clock is the time that back-off and repetition go by, so that tests of them do not
// wait.
type Clock interface {
	Now() time.Time
	// After is time.After.
	After(d time.Duration) <-chan time.Time
}

// SystemClock is the real one.
type SystemClock struct{}

// Now is time.Now.
func (SystemClock) Now() time.Time { return time.Now() }

// After is time.After.
func (SystemClock) After(d time.Duration) <-chan time.Time { return time.After(d) }
