// The messages between a tab and the holder of the event stream.

/** JournalEvent is one event of the journal as the stream sends it. */
export interface JournalEvent {
  seq: number;
  topic: string;
  payload: Record<string, unknown>;
}

/** StreamState is the state of the event stream. Live events arrive only while it is open. */
export type StreamState = 'idle' | 'connecting' | 'open' | 'waiting';

/** Notice is a message from the holder of the stream to a tab. */
export type Notice =
  | { type: 'state'; state: StreamState; fresh: boolean }
  | { type: 'events'; events: JournalEvent[] }
  /** This tab was suspended and may have missed events: its data may be out of date. */
  | { type: 'missed' }
  | { type: 'unauthorized' };

/** Order is a message from a tab to the holder of the stream. */
export type Order =
  | { type: 'session'; session: string | null }
  /** Connect now instead of after the back-off: the network is back, or the tab became visible. */
  | { type: 'wake' }
  | { type: 'bye' };
