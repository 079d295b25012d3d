import { create } from 'zustand';
import type { StreamState } from './protocol';

/** Connection is how the tab stands to the event stream. */
interface Connection {
  state: StreamState;
  /** When the stream was lost, in ms since the epoch; null while it is open. */
  downSince: number | null;
}

/** useConnection is the connection, for dots and banners. */
export const useConnection = create<Connection>(() => ({ state: 'idle', downSince: null }));

/** noteState records a change; the time of the loss stays while attempts come and go. */
export function noteState(state: StreamState): void {
  useConnection.setState(({ downSince }) => ({
    state,
    downSince: state === 'open' || state === 'idle' ? null : (downSince ?? Date.now()),
  }));
  if (state === 'open') settle();
}

let settle: () => void = () => {};
const opened = new Promise<void>((resolve) => {
  settle = resolve;
});
const patience = new Promise<void>((resolve) => setTimeout(resolve, 400));

/**
 * streamReady ends when the stream is open, or after a moment without it. What is read after it misses
 * no event; what is read before is read again when the stream opens.
 */
export const streamReady: Promise<void> = Promise.race([opened, patience]);
