// Package notify sends the entries of the inbox to sinks: webhooks, ntfy, Slack.
//
// Before an entry is sent, a notification is added to the outbox, one for each sink that wants the entry and for each
// occurrence. It is retried until the sink accepts it, the sink refuses it for good, the entry closes, or a day has
// passed. Every try sends the same id, so that a receiver can detect duplicates. For each try the orchestrator leases
// the sink. The lease ends with the orchestrator's term. Sinks are served concurrently.
package notify
