package svc

import (
	"fmt"
	"strings"
)

// Trigger is an event that may change a run's status.
type Trigger string

// The triggers.
const (
	OnAdmit           Trigger = "POST /runs"
	OnClaim           Trigger = "claim by the dispatcher"
	OnNack            Trigger = "the host refuses the dispatch"
	OnStarted         Trigger = "signal started"
	OnExitZero        Trigger = "signal finished, exit code 0"
	OnExitNonZero     Trigger = "signal finished, exit code not 0"
	OnFailed          Trigger = "signal failed (hook, or spawn failure)"
	OnStop            Trigger = "stop"
	OnDispatchTimeout Trigger = "dispatch timeout"
	OnHostLost        Trigger = "host away past lost_after"
	OnRestart         Trigger = "restart policy (attempt + 1)"
)

// Transition is one legal status change of a run.
type Transition struct {
	From    RunStatus // empty: there was no run
	Trigger Trigger
	To      RunStatus
	Topic   Topic // the event that is journaled
}

// Transitions lists every legal status change of a run; there are no others. The code looks them up here, and
// docs/states.md is generated from this table.
var Transitions = []Transition{
	{"", OnAdmit, RunPending, TopicRunCreated},
	{RunPending, OnClaim, RunSpawning, TopicRunSpawning},
	{RunPending, OnDispatchTimeout, RunFailed, TopicRunFailed},
	{RunPending, OnStop, RunStopped, TopicRunStopped},
	{RunSpawning, OnNack, RunPending, TopicRunRequeued},
	{RunSpawning, OnStarted, RunRunning, TopicRunStarted},
	{RunSpawning, OnExitZero, RunExited, TopicRunFinished},
	{RunSpawning, OnExitNonZero, RunFailed, TopicRunFinished},
	{RunSpawning, OnFailed, RunFailed, TopicRunFailed},
	{RunSpawning, OnStop, RunStopped, TopicRunStopped},
	{RunSpawning, OnHostLost, RunFailed, TopicRunFailed},
	{RunSpawning, OnRestart, RunPending, TopicRunRequeued},
	{RunRunning, OnExitZero, RunExited, TopicRunFinished},
	{RunRunning, OnExitNonZero, RunFailed, TopicRunFinished},
	{RunRunning, OnFailed, RunFailed, TopicRunFailed},
	{RunRunning, OnStop, RunStopped, TopicRunStopped},
	{RunRunning, OnHostLost, RunFailed, TopicRunFailed},
	{RunStopped, OnExitZero, RunStopped, TopicRunFinished},
	{RunStopped, OnExitNonZero, RunStopped, TopicRunFinished},
	{RunFailed, OnRestart, RunPending, TopicRunRequeued},
	{RunExited, OnRestart, RunPending, TopicRunRequeued},
}

// Next returns the transition that a trigger causes in a status, and whether there is one.
func Next(from RunStatus, on Trigger) (Transition, bool) {
	for _, t := range Transitions {
		if t.From == from && t.Trigger == on {
			return t, true
		}
	}
	return Transition{}, false
}

// TransitionsMarkdown returns the table for docs/states.md.
func TransitionsMarkdown() string {
	var b strings.Builder
	b.WriteString("| from | trigger | to | journal |\n|---|---|---|---|\n")
	for _, t := range Transitions {
		from := string(t.From)
		if from == "" {
			from = "(none)"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | `%s` |\n", from, t.Trigger, t.To, t.Topic)
	}
	return b.String()
}
