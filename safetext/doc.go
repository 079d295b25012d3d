// Package safetext makes text from other people and programs safe to show: names, messages and errors, logs, screens,
// and the byte stream of an attached terminal.
//
// A terminal executes the sequences that it receives. A sequence in a run's message can write the clipboard, change
// the title, or make the terminal send input as if a person had typed it. So text from another source must pass one
// of these functions before it reaches a terminal:
//
//   - [Line] and [Lines] are for fields: every control character, and every character that hides or reorders
//     text, is replaced by a visible form. [JSON] does the same for programs, without loss.
//   - [Colours] is for screens and [Log] for logs: text and its colours, nothing else.
//   - [Relay] is for output that a session sends to attached clients, [Terminal] for output that svc's own
//     client then draws on the user's terminal, and [Input] for what that terminal sends back.
//
// [Text] is the type of safe text. All functions are pure, and a stream may be split at any byte.
package safetext

// Text is safe to print on a terminal. It is created by the functions of this package, and by code that adds its own
// colours to such a text.
type Text string
