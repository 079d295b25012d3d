// Package clocktest lets time pass in tests that are about the passing of time. Do not use it to wait for an event:
// wait for the event itself.
package clocktest

import "time"

// realTime is later than the clock of any testing/synctest bubble, which starts in the year 2000, and earlier than
// any real clock.
var realTime = time.Date(2020, time.January, 1, 0, 0, 0, 0, time.UTC)

// Pass advances the clock of a testing/synctest bubble by d, without real waiting. Call synctest.Wait afterwards to
// wait for what the time has triggered. Outside of a bubble it panics.
func Pass(d time.Duration) {
	if time.Now().After(realTime) {
		panic("clocktest.Pass outside of synctest.Test: wait for the event")
	}
	time.Sleep(d)
}

// Pause waits for d in real time: for an outage of some seconds, or a connection that is idle for longer than a
// limit.
func Pause(d time.Duration) { time.Sleep(d) }
