// Describes the delivery of a message to an agent in words.
import type { Message } from '@/api/schema.gen';

/** messageStates has the words for the states of a message. */
export const messageStates: Record<Message['state'], string> = {
  queued: 'Waits',
  pasted: 'Pasted and submitted',
  acknowledged: 'The agent has it',
  unconfirmed: 'Not known whether it arrived',
  undelivered: 'Not delivered',
};
/** messageReasons has the words for why a message is unconfirmed or undelivered. */
export const messageReasons: Record<Message['reason'], string> = {
  '': '',
  not_reported: 'no hook reported it',
  outcome_unknown: 'the host’s answer was lost',
  run_ended: 'the session ended',
  host_away: 'the host was away',
  provider_takes_none: 'this tool takes no messages',
  no_turns: 'this tool does not report when a turn ends',
  refused: 'the worker could not',
};
