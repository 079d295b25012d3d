// Package notify tells people of the inbox where they are: webhooks, ntfy, Slack.
//
// Each entry of the inbox that a sink wants becomes a line of the outbox before anything is sent, one for each sink and occurrence, and
// stays there until the sink has taken it, has refused it for good, or a day has passed. Its id goes along, the same with
// every try, so that a receiver knows what it has seen. A sink is leased for a try by whichever orchestrator makes it, no
// longer than that one leads; sinks do not wait for each other.
package notify
