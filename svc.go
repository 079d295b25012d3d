// Package svc holds the nouns of the product, their states and their rules.
//
// svc runs AI coding-agent command-line tools on many machines and reports their true state. Its nouns:
//
//   - A [Project] is a body of work with a default working directory.
//   - A [WorkItem] is a piece of it: milestone, epic, task or subtask, in a tree.
//   - A [Run] is one execution of a provider's command-line tool for a task, in
//     a terminal session on a host. A run that is restarted keeps its id and
//     gets the next attempt; an attempt that was superseded is dead.
//   - A [Host] is a machine whose worker connects outward to the orchestrator.
//   - A [Signal] is what a wrapper, a provider's hook or a person reports about
//     an attempt. Signals, never the screen, move a run.
//   - An [Event] is one line of the append-only journal: every state change is
//     there, once, in commit order.
//
// The package is pure: no SQL, no HTTP, no frames, no terminals. Everything
// around it depends inwards; arch_test.go keeps it so.
package svc
