package svc

import (
	"fmt"
	"strings"
)

// Trigger is what can move a run.
type Trigger string

// Everything that moves a run.
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

// Transition is one legal move of a run.
type Transition struct {
	From    RunStatus // empty: there was no run
	Trigger Trigger
	To      RunStatus
	Topic   Topic // what the journal gets
}

// Transitions is every legal move of a run. What is not here does not happen:
// the code asks this table, and docs/states.md is printed from it.
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

// Next is the move that a trigger causes in a status, if it causes one.
func Next(from RunStatus, on Trigger) (Transition, bool) {
	for _, t := range Transitions {
		if t.From == from && t.Trigger == on {
			return t, true
		}
	}
	return Transition{}, false
}

// TransitionsMarkdown prints the table for docs/states.md.
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
