import { create, type StoreApi, type UseBoundStore } from 'zustand';
import { begin, type Lease, type LeaseEvent, maySend, type ServerFrame, step } from './lease';
import { LiveSocket, socketUrl } from './socket';
import type { Watchers } from './watchers';

/** The maximal size of the input in one frame, in bytes. A larger paste is split. */
const piece = 64 * 1024;
/** How much output is kept for a view that is mounted later, in bytes. */
const mostKept = 1024 * 1024;

/** Size is the size of a terminal's grid, in cells. */
export interface Size {
  rows: number;
  cols: number;
}

/** AttachState is the state that views of the attached terminal show. */
export interface AttachState {
  lease: Lease;
  /** The session's size, as last received from the server. Null: the size of a new session. */
  size: Size | null;
  /** Who sees the terminal. Null: not known, for example while the socket is lost. */
  watchers: Watchers | null;
}

/** Attachment is one client of a run's shared terminal, from attach to detach. */
export class Attachment {
  readonly store: UseBoundStore<StoreApi<AttachState>> = create<AttachState>(() => ({
    lease: begin,
    size: null,
    watchers: null,
  }));
  private readonly socket: LiveSocket;
  private readonly listeners = new Set<(data: Uint8Array) => void>();
  private kept: Uint8Array[] = [];
  private keptBytes = 0;

  constructor(readonly runId: string) {
    this.socket = new LiveSocket(() => `${socketUrl(runId, 'attach')}?watchers=true`, {
      opened: () => {
        // Each connection starts with a redraw of the whole screen.
        this.kept = [];
        this.keptBytes = 0;
        this.happen({ type: 'opened' });
      },
      message: (data) => this.receive(JSON.parse(data) as ServerFrame),
      closed: (code, reason) => {
        this.store.setState({ watchers: null });
        this.happen({ type: 'closed', code, reason });
        return this.lease.phase !== 'ended';
      },
    });
  }

  get lease(): Lease {
    return this.store.getState().lease;
  }

  /**
   * onData passes output to a listener, first the kept output and then each new piece. It returns a function that removes
   * the listener.
   */
  onData(listener: (data: Uint8Array) => void): () => void {
    for (const data of this.kept) listener(data);
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /**
   * onSize passes the session's size to a listener, at once if it is known, and then each new one. It is passed before
   * the output that is drawn in it. It returns a function that removes the listener.
   */
  onSize(listener: (size: Size) => void): () => void {
    const { size } = this.store.getState();
    if (size) listener(size);
    return this.store.subscribe((now, before) => {
      if (now.size && now.size !== before.size) listener(now.size);
    });
  }

  /** type sends typed text in order. It sends nothing unless this client holds the lease or nobody does. */
  type(text: string): void {
    if (!maySend(this.lease)) return;
    const bytes = new TextEncoder().encode(text);
    for (let at = 0; at < bytes.length; at += piece) {
      this.socket.send(JSON.stringify({ type: 'input', bytes: toBase64(bytes.subarray(at, at + piece)) }));
    }
  }

  /** resize changes the session's size. Only the lease's holder can do that. */
  resize({ rows, cols }: Size): void {
    if (this.lease.phase === 'holder') this.socket.send(JSON.stringify({ type: 'resize', rows, cols }));
  }

  /** release releases the lease. This client continues to watch. */
  release(): void {
    if (this.socket.send(JSON.stringify({ type: 'release_lease' }))) this.happen({ type: 'released' });
  }

  /** take takes the lease from its holder. The server notifies the former holder, who continues to watch. */
  take(): void {
    this.socket.send(JSON.stringify({ type: 'take_lease' }));
  }

  /** close detaches. */
  close(): void {
    this.socket.close();
    this.listeners.clear();
  }

  private receive(frame: ServerFrame): void {
    if (frame.type === 'data') {
      const data = fromBase64(frame.bytes);
      this.keep(data);
      for (const listener of this.listeners) listener(data);
    }
    if (frame.type === 'resize') this.store.setState({ size: { rows: frame.rows, cols: frame.cols } });
    if (frame.type === 'watchers')
      this.store.setState({ watchers: { people: frame.watchers, more: frame.more } });
    this.happen({ type: 'frame', frame });
  }

  private keep(data: Uint8Array): void {
    this.kept.push(data);
    this.keptBytes += data.length;
    while (this.keptBytes > mostKept) this.keptBytes -= this.kept.shift()?.length ?? 0;
  }

  private happen(event: LeaseEvent): void {
    const lease = step(this.lease, event);
    if (lease !== this.lease) this.store.setState({ lease });
  }
}

/** toBase64 encodes bytes for the socket. */
export function toBase64(bytes: Uint8Array): string {
  let binary = '';
  for (let at = 0; at < bytes.length; at += 8192)
    binary += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(binary);
}

/** fromBase64 decodes the result of toBase64. */
export function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
}
