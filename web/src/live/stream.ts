import type { JournalEvent, Notice, StreamState } from './protocol';
import { SseParser } from './sse';

/** Outside is the environment that an EventStream needs. Tests pass their own. */
export interface Outside {
  fetch(url: string, init: RequestInit): Promise<Response>;
  setTimeout(action: () => void, ms: number): unknown;
  clearTimeout(timer: unknown): void;
  /** 0 ≤ random < 1 */
  random(): number;
}

const firstDelay = 500;
const lastDelay = 15_000;
/** The time of three missed heartbeats, in ms. After it the connection counts as dead. */
const silence = 15_000;

/** backoff returns the delay before the next attempt after so many failures, in ms, with jitter. */
export function backoff(failures: number, random: number): number {
  const top = Math.min(lastDelay, firstDelay * 2 ** Math.min(failures, 10));
  return top / 2 + (top / 2) * random;
}

/**
 * EventStream follows the journal for ever. It reconnects with growing delays and resumes after the last event it
 * received. Without a cursor the stream starts at the present, and the first state `open` is marked fresh: data that was
 * read before it may be out of date.
 */
export class EventStream {
  state: StreamState = 'idle';
  private session: string | null = null;
  private cursor = '';
  private failures = 0;
  private timer: unknown;
  private abort: AbortController | null = null;

  constructor(
    private readonly url: string,
    private readonly notify: (notice: Notice) => void,
    private readonly outside: Outside,
  ) {}

  /** use follows the journal with a sign-in's mark. The same mark again changes nothing; null stops the stream. */
  use(session: string | null): void {
    if (session === this.session) return;
    this.close();
    this.session = session;
    this.cursor = '';
    this.failures = 0;
    if (session) void this.connect();
  }

  /** wake ends the delay before the next attempt. */
  wake(): void {
    if (this.state !== 'waiting' || !this.session) return;
    this.outside.clearTimeout(this.timer);
    this.failures = 0;
    void this.connect();
  }

  /** pause closes the connection and keeps the cursor, so that resume continues after it. */
  pause(): void {
    this.close();
  }

  /** resume connects again after a pause. */
  resume(): void {
    if (this.state === 'idle' && this.session) void this.connect();
  }

  private close(): void {
    this.outside.clearTimeout(this.timer);
    this.abort?.abort();
    this.abort = null;
    this.enter('idle', false);
  }

  private enter(state: StreamState, fresh: boolean): void {
    if (this.state === state) return;
    this.state = state;
    this.notify({ type: 'state', state, fresh });
  }

  private async connect(): Promise<void> {
    const abort = new AbortController();
    this.abort = abort;
    this.enter('connecting', false);
    try {
      const headers: Record<string, string> = { Accept: 'text/event-stream' };
      if (this.cursor) headers['Last-Event-ID'] = this.cursor;
      const response = await this.outside.fetch(this.url, {
        headers,
        signal: abort.signal,
        cache: 'no-store',
      });
      if (abort.signal.aborted) return;
      if (response.status === 401) {
        this.session = null;
        this.enter('idle', false);
        this.notify({ type: 'unauthorized' });
        return;
      }
      if (!response.ok || !response.body) throw new Error(`the stream answered ${response.status}`);
      this.failures = 0;
      this.enter('open', this.cursor === '');
      await this.read(response.body, abort.signal);
    } catch {
      // Whatever ended the connection, a new attempt is scheduled below.
    }
    if (abort.signal.aborted) return;
    this.enter('waiting', false);
    this.timer = this.outside.setTimeout(
      () => void this.connect(),
      backoff(this.failures++, this.outside.random()),
    );
  }

  private async read(body: ReadableStream<Uint8Array>, signal: AbortSignal): Promise<void> {
    const parser = new SseParser();
    const decoder = new TextDecoder();
    const reader = body.getReader();
    for (;;) {
      const silent = this.outside.setTimeout(() => void reader.cancel(), silence);
      const { done, value } = await reader.read().finally(() => this.outside.clearTimeout(silent));
      if (done || signal.aborted) return;
      const events: JournalEvent[] = [];
      for (const message of parser.push(decoder.decode(value, { stream: true }))) {
        this.cursor = message.id || this.cursor;
        events.push({ seq: Number(message.id), topic: message.event, payload: JSON.parse(message.data) });
      }
      if (events.length > 0) this.notify({ type: 'events', events });
    }
  }
}
