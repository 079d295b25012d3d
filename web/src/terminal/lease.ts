import type { Watcher } from './watchers';

// Who may type into a run's terminal, seen from one client of the attach socket.

/**
 * Phase is how this client stands:
 * - connecting: the socket is not open yet.
 * - holder: it may type.
 * - watching: someone else may type. This client is next in line, unless its token only lets it watch.
 * - free: nobody types, and the next key makes this client the holder.
 * - lost: the socket broke and is being opened again.
 * - ended: it is over, for the reason given.
 */
export type Phase = 'connecting' | 'holder' | 'watching' | 'free' | 'lost' | 'ended';

/** Lease is the phase with what else a person should know. */
export interface Lease {
  phase: Phase;
  /** Who has taken the keyboard from this client; null: nobody has. */
  takenBy: string | null;
  /** When this client got the lease; null: it has none. */
  since: string | null;
  /** What the server said last that is still true: the host is away, the input did not arrive. */
  notice: string | null;
  /** Why it ended. */
  why: string | null;
  /** Sockets that broke one after the other. */
  failures: number;
}

/** ServerFrame is what the attach socket sends. */
export type ServerFrame =
  | { type: 'lease_acquired'; run_id: string; attached_at: string }
  | { type: 'error'; code: string; message: string; by?: string }
  | { type: 'data'; bytes: string }
  | { type: 'resize'; rows: number; cols: number }
  | { type: 'watchers'; watchers: Watcher[]; more: number };

/** LeaseEvent is what happens to a lease. */
export type LeaseEvent =
  | { type: 'opened' }
  | { type: 'frame'; frame: ServerFrame }
  | { type: 'released' }
  | { type: 'closed'; code: number; reason: string };

/** begin is a lease before its socket is open. */
export const begin: Lease = {
  phase: 'connecting',
  takenBy: null,
  since: null,
  notice: null,
  why: null,
  failures: 0,
};

const runEnded = 1000;
const refused = 1008;

/** step is the lease after an event. */
export function step(lease: Lease, event: LeaseEvent): Lease {
  if (lease.phase === 'ended') return lease;
  switch (event.type) {
    case 'opened':
      return { ...lease, phase: 'connecting', notice: null };
    case 'released':
      return lease.phase === 'holder' ? { ...lease, phase: 'free', since: null } : lease;
    case 'closed':
      if (event.code === runEnded || event.code === refused) {
        return {
          ...lease,
          phase: 'ended',
          since: null,
          notice: null,
          why: event.reason || 'the session is over',
        };
      }
      return { ...lease, phase: 'lost', since: null, failures: lease.failures + 1 };
    case 'frame':
      return heard(lease, event.frame);
  }
}

function heard(lease: Lease, frame: ServerFrame): Lease {
  switch (frame.type) {
    case 'lease_acquired':
      return {
        ...lease,
        phase: 'holder',
        takenBy: null,
        since: frame.attached_at,
        notice: null,
        failures: 0,
      };
    case 'data':
      // Output flows: the host is there again.
      return lease.notice === null && lease.failures === 0 ? lease : { ...lease, notice: null, failures: 0 };
    case 'resize':
      return lease;
    case 'watchers':
      // A client that may only watch gets no other frame that says so.
      return lease.phase === 'connecting' && frame.watchers.some(({ you, holds }) => you && !holds)
        ? { ...lease, phase: 'watching', failures: 0 }
        : lease;
    case 'error':
      if (frame.code === 'lease_held') return { ...lease, phase: 'watching', since: null, failures: 0 };
      if (frame.code === 'lease_taken')
        return { ...lease, phase: 'watching', takenBy: frame.by ?? null, since: null, notice: null };
      return { ...lease, notice: frame.message };
  }
}

/** maySend reports whether input is worth sending: as the holder, or to become it. */
export const maySend = ({ phase }: Pick<Lease, 'phase'>): boolean => phase === 'holder' || phase === 'free';
