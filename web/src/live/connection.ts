import { create } from 'zustand';
import type { StreamState } from './protocol';

/** Connection is the state of the tab's connection to the event stream. */
interface Connection {
  state: StreamState;
  /** When the stream was lost, in ms since the epoch; null while it is open. */
  downSince: number | null;
}

/** useConnection returns the connection's state, for status dots and banners. */
export const useConnection = create<Connection>(() => ({ state: 'idle', downSince: null }));

/** noteState records a new state. While reconnecting fails, the time of the loss does not change. */
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
 * streamReady resolves when the stream is open, or after 400 ms without it. Data that is read afterwards misses no
 * event. Data that was read before is read again when the stream opens.
 */
export const streamReady: Promise<void> = Promise.race([opened, patience]);
