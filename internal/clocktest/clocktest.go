// Package clocktest lets time pass in tests in which the passing of time is what happens. Neither function is a way to wait for
// something: wait for the event itself.
package clocktest

import "time"

// realTime is later than any clock of a testing/synctest bubble, which begins with the year 2000, and earlier than any real one.
var realTime = time.Date(2020, time.January, 1, 0, 0, 0, 0, time.UTC)

// Pass moves the clock of a testing/synctest bubble, at once. Call synctest.Wait after it when what the time set off is to be over. Outside
// of a bubble it panics.
func Pass(d time.Duration) {
	if time.Now().After(realTime) {
		panic("clocktest.Pass outside of synctest.Test: wait for the event")
	}
	time.Sleep(d)
}

// Pause takes real time: an outage of some seconds, or a connection that is quiet for longer than a limit.
func Pause(d time.Duration) { time.Sleep(d) }
