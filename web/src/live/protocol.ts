// What tabs and the stream's holder say to each other.

/** JournalEvent is one event of the journal as the stream carries it. */
export interface JournalEvent {
  seq: number;
  topic: string;
  payload: Record<string, unknown>;
}

/** StreamState is how the stream stands: live events flow only while it is open. */
export type StreamState = 'idle' | 'connecting' | 'open' | 'waiting';

/** Notice is what the holder of the stream tells a tab. */
export type Notice =
  | { type: 'state'; state: StreamState; fresh: boolean }
  | { type: 'events'; events: JournalEvent[] }
  /** This tab was away and events went by: what it holds may be out of date. */
  | { type: 'missed' }
  | { type: 'unauthorized' };

/** Order is what a tab tells the holder. */
export type Order =
  | { type: 'session'; session: string | null }
  /** Connect now instead of after the back-off: the network is back, or someone looks. */
  | { type: 'wake' }
  | { type: 'bye' };
