import type { Watcher } from './watchers';

// The lease to type into a run's terminal, as seen by one client of the attach socket.

/**
 * Phase is the state of this client:
 * - connecting: the socket is not open yet.
 * - holder: it may type.
 * - watching: another client may type. This client is next in line, unless its token only permits watching.
 * - free: no client holds the lease, and the next key makes this client the holder.
 * - lost: the socket broke and is being opened again.
 * - ended: the attachment has ended, for the reason in why.
 */
export type Phase = 'connecting' | 'holder' | 'watching' | 'free' | 'lost' | 'ended';

/** Lease is the phase, and the details that a person needs. */
export interface Lease {
  phase: Phase;
  /** Who took the lease from this client. Null: nobody. */
  takenBy: string | null;
  /** When this client acquired the lease. Null: it does not hold the lease. */
  since: string | null;
  /** The last problem that the server reported and that still exists: the host is away, the input did not arrive. */
  notice: string | null;
  /** Why the attachment ended. */
  why: string | null;
  /** How many sockets in a row broke. */
  failures: number;
}

/** ServerFrame is a frame from the attach socket. */
export type ServerFrame =
  | { type: 'lease_acquired'; run_id: string; attached_at: string }
  | { type: 'error'; code: string; message: string; by?: string }
  | { type: 'data'; bytes: string }
  | { type: 'resize'; rows: number; cols: number }
  | { type: 'watchers'; watchers: Watcher[]; more: number };

/** LeaseEvent is an event that may change a lease. */
export type LeaseEvent =
  | { type: 'opened' }
  | { type: 'frame'; frame: ServerFrame }
  | { type: 'released' }
  | { type: 'closed'; code: number; reason: string };

/** begin is the lease before the socket is open. */
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

/** step returns the lease after an event. */
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
      return afterFrame(lease, event.frame);
  }
}

function afterFrame(lease: Lease, frame: ServerFrame): Lease {
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
      // Output arrives, so the host is connected again.
      return lease.notice === null && lease.failures === 0 ? lease : { ...lease, notice: null, failures: 0 };
    case 'resize':
      return lease;
    case 'watchers':
      // This is the only frame from which a client without the permission to type learns its phase.
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

/** maySend reports whether input may be sent: this client is the holder, or the input would make it the holder. */
export const maySend = ({ phase }: Pick<Lease, 'phase'>): boolean => phase === 'holder' || phase === 'free';
