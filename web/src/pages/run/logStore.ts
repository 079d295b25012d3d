import { urlOf } from '@/api/client';
import { ApiError } from '@/api/error';
import { backoff } from '@/live/stream';
import { type Line, LineSplitter } from '@/terminal/lines';

/** How many lines are kept in memory. Older ones are dropped; the download has all. */
export const mostLines = 200_000;
/** Of a log with more bytes than this, only the last lines are read. */
const large = 64 * 1024 * 1024;
/** The shortest time between two notifications of the page about new lines, in ms. */
const every = 100;
/** How long a large log is parsed before the page may render, in ms. */
const longestWork = 20;
/** How many bytes of a log are parsed before its first lines are rendered, and how many at a time after that. */
const firstPiece = 16 * 1024;
const nextPiece = 256 * 1024;
/** How long the page may take to render a log's first lines, in ms. */
const firstDrawn = 60;
/** How long a log without viewers is kept, in ms: users often return from another tab soon. */
const linger = 30_000;

const opened = new Map<string, { store: LogStore; viewers: number; timer: number }>();

/** openLog returns the log of a run for a viewer. A log that a viewer left a short time ago is used again. */
export function openLog(runId: string): LogStore {
  const known = opened.get(runId);
  if (known && !known.store.get().error) {
    window.clearTimeout(known.timer);
    known.viewers++;
    return known.store;
  }
  const store = new LogStore(runId);
  opened.set(runId, { store, viewers: 1, timer: 0 });
  return store;
}

/** leaveLog releases a log when its viewer is unmounted. */
export function leaveLog(runId: string, store: LogStore): void {
  const known = opened.get(runId);
  if (known?.store !== store) {
    store.close();
    return;
  }
  if (--known.viewers > 0) return;
  known.timer = window.setTimeout(() => {
    opened.delete(runId);
    store.close();
  }, linger);
}

/** LogState is the state of a log for its viewers. */
export interface LogState {
  lines: readonly Line[];
  /** The number of the first line in memory, from 1. Null: the log was too large to count its lines. */
  first: number | null;
  /** version changes with every addition, because lines is one growing list. */
  version: number;
  phase: 'loading' | 'open' | 'ended' | 'waiting';
  error: ApiError | null;
}

/**
 * LogStore streams a run's log until it is closed. After a broken stream it continues after the last received byte, so
 * no line is lost or repeated.
 */
export class LogStore {
  private state: LogState = { lines: [], first: 1, version: 0, phase: 'loading', error: null };
  private lines: Line[] = [];
  private dropped = 0;
  private received = 0;
  private tail = false;
  private failures = 0;
  private timer = 0;
  private retry = 0;
  private open: Line | null = null;
  private splitter = new LineSplitter();
  private readonly abort = new AbortController();
  private readonly listeners = new Set<() => void>();

  constructor(private readonly runId: string) {
    void this.begin();
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly get = (): LogState => this.state;

  /** close stops the stream. */
  close(): void {
    this.abort.abort();
    window.clearTimeout(this.timer);
    window.clearTimeout(this.retry);
    this.listeners.clear();
  }

  private async begin(): Promise<void> {
    try {
      // Both requests are sent at once, because nearly every log is small enough to be read whole.
      const length = this.ask('HEAD', {}).then(({ headers }) => Number(headers.get('Content-Length') ?? 0));
      length.catch(() => {}); // the error is handled where read awaits the length
      this.tail = false;
      const whole = await this.ask('GET', { follow: true });
      if (!(await this.read(whole, length))) {
        this.tail = true;
        await this.read(await this.ask('GET', { follow: true, tail: mostLines }));
      }
      this.phase('ended');
    } catch (error) {
      if (this.abort.signal.aborted) return;
      if (error instanceof ApiError && error.status >= 400 && error.status < 500) {
        this.state = { ...this.state, phase: 'ended', error };
        this.notify();
        return;
      }
      this.phase('waiting');
      this.retry = window.setTimeout(() => void this.begin(), backoff(this.failures++, Math.random()));
    }
  }

  private ask(method: string, query: { follow?: boolean; tail?: number }): Promise<Response> {
    const url = urlOf('/runs/{id}/logs', { id: this.runId }, query);
    return request(url, method, this.abort.signal);
  }

  /**
   * read parses a response to its end. The length of the whole log may arrive later than its first lines. If the log is too
   * large, read stops after the first lines, cancels the response and returns false.
   */
  private async read(response: Response, length?: Promise<number>): Promise<boolean> {
    if (!response.body) return true;
    let skip = this.tail ? 0 : this.received;
    if (this.tail) this.restart();
    this.failures = 0;
    // A log with lines is open when its first lines are parsed. Before that there is nothing to show.
    if (this.lines.length > 0) this.phase('open');
    else {
      const openEmpty = (bytes: number) => bytes === 0 && this.state.phase !== 'open' && this.phase('open');
      void length?.then(openEmpty, () => {}); // without the length, the first lines open the log
    }
    const reader = response.body.getReader();
    let rested = performance.now();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      let rest = value.subarray(Math.min(skip, value.length));
      skip = Math.max(0, skip - value.length);
      while (rest.length > 0) {
        const begins = this.state.phase !== 'open';
        const piece = rest.subarray(0, begins ? firstPiece : nextPiece);
        rest = rest.subarray(piece.length);
        this.received += piece.length;
        this.add(this.splitter.push(piece));
        if (begins) this.phase('open');
        else if (performance.now() - rested < longestWork) continue;
        // The first lines are rendered before the rest is parsed.
        await new Promise((resolve) => setTimeout(resolve, begins ? firstDrawn : 0));
        if (begins && length && (await length) > large) {
          await reader.cancel();
          return false;
        }
        rested = performance.now();
      }
    }
    this.add(this.splitter.end());
    return true;
  }

  private restart(): void {
    this.lines = [];
    this.dropped = 0;
    this.received = 0;
    this.splitter = new LineSplitter();
  }

  private add(lines: Line[]): void {
    for (const line of lines) this.lines.push(line);
    const over = this.lines.length - mostLines;
    // Removing lines from a large list is expensive, so many are removed at once.
    if (over > mostLines / 10) {
      this.lines = this.lines.slice(over);
      this.dropped += over;
    }
    this.open = this.splitter.open();
    if (this.timer === 0) this.timer = window.setTimeout(() => this.show(), every);
  }

  private show(): void {
    this.timer = 0;
    const lines = this.open ? [...this.lines, this.open] : this.lines;
    this.state = {
      ...this.state,
      lines,
      first: this.tail ? null : this.dropped + 1,
      version: this.state.version + 1,
    };
    this.notify();
  }

  private phase(phase: LogState['phase']): void {
    window.clearTimeout(this.timer);
    this.state = { ...this.state, phase, error: null };
    this.show();
  }

  private notify(): void {
    for (const listener of this.listeners) listener();
  }
}

async function request(url: string, method: string, signal?: AbortSignal): Promise<Response> {
  const response = await fetch(url, {
    method,
    signal,
    cache: 'no-store',
  });
  if (!response.ok) throw new ApiError(response.status, 'internal', `the server answered ${response.status}`);
  return response;
}

/** downloadLog saves the whole log, with the bytes that the terminal received. */
export async function downloadLog(runId: string, name: string): Promise<void> {
  const response = await request(urlOf('/runs/{id}/logs', { id: runId }), 'GET');
  const link = document.createElement('a');
  link.href = URL.createObjectURL(await response.blob());
  link.download = `${name}.log`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
