// Package safetext makes text that others wrote safe to show: names, messages
// and errors, logs, screens, and the byte stream of an attached terminal.
//
// A terminal obeys what it is sent. A sequence in a run's message can write the
// clipboard, change the title, or make the terminal answer as if someone had typed.
// So nothing that came from elsewhere reaches a terminal before it has passed one of
// these:
//
//   - [Line] and [Lines] are for fields: every control character and every character that
//     hides or reorders text is spelled out. [JSON] does the same for machines, without loss.
//   - [Colours] is for screens and [Log] for logs: text and its colours, nothing else.
//   - [Relay] is for what a session sends to whoever is attached, [Terminal] for what a terminal of ours then draws,
//     and [Input] for what it sends back.
//
// [Text] is the type of what has passed. All functions are pure, and a stream may be cut anywhere.
package safetext

// Text is safe to print on a terminal. Its makers are the functions of this
// package and whoever adds colours of its own to such a text.
type Text string
