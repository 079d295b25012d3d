import { describe, expect, it } from 'vitest';
import type { Notice } from './protocol';
import { backoff, EventStream, type Outside } from './stream';

/** lab returns a server whose requests the test answers one by one, and a clock that the test advances. */
function lab() {
  const requests: {
    headers: Record<string, string>;
    answer(r: Response | Error): void;
    signal: AbortSignal;
  }[] = [];
  const timers: { action(): void; ms: number }[] = [];
  const notices: Notice[] = [];
  const outside: Outside = {
    fetch: (_, init) =>
      new Promise((resolve, reject) => {
        const signal = init.signal as AbortSignal;
        signal.addEventListener('abort', () => reject(new Error('aborted')));
        requests.push({
          headers: init.headers as Record<string, string>,
          signal,
          answer: (r) => (r instanceof Error ? reject(r) : resolve(r)),
        });
      }),
    setTimeout: (action, ms) => timers.push({ action, ms }),
    clearTimeout: (timer) => {
      if (typeof timer === 'number' && timers[timer - 1]) timers[timer - 1] = { action: () => {}, ms: -1 };
    },
    random: () => 0.5,
  };
  const stream = new EventStream('/stream', (notice) => notices.push(notice), outside);
  return { requests, timers, notices, stream };
}

/** body is an open response into which a test writes. */
function body() {
  let controller: ReadableStreamDefaultController<Uint8Array>;
  const stream = new ReadableStream<Uint8Array>({
    start(c) {
      controller = c;
    },
  });
  return {
    response: new Response(stream, { status: 200 }),
    write: (text: string) => controller.enqueue(new TextEncoder().encode(text)),
    end: () => controller.close(),
  };
}

const settle = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await Promise.resolve();
  await new Promise((resolve) => setTimeout(resolve, 0));
};

describe('EventStream', () => {
  it('gives up a connection that misses three heartbeats, and resumes', async () => {
    const { requests, timers, stream } = lab();
    stream.use('secret');
    const first = body();
    requests[0]?.answer(first.response);
    await settle();
    first.write('id: 7\nevent: run.created\ndata: {}\n\n:\n\n');
    await settle();
    expect(timers.filter((timer) => timer.ms === 15_000)).toHaveLength(1);
    timers.find((timer) => timer.ms === 15_000)?.action();
    await settle();
    expect(stream.state).toBe('waiting');
    timers.at(-1)?.action();
    expect(requests[1]?.headers['Last-Event-ID']).toBe('7');
  });

  it('begins without a cursor and is fresh, then resumes behind the last event', async () => {
    const { requests, timers, notices, stream } = lab();
    stream.use('secret');
    expect(requests[0]?.headers).toEqual({ Accept: 'text/event-stream' });
    expect(requests[0]?.headers['Last-Event-ID']).toBeUndefined();
    const first = body();
    requests[0]?.answer(first.response);
    await settle();
    first.write('id: 41\nevent: run.created\ndata: {"run_id":"r"}\n\n');
    await settle();
    first.end();
    await settle();
    expect(notices).toEqual([
      { type: 'state', state: 'connecting', fresh: false },
      { type: 'state', state: 'open', fresh: true },
      { type: 'events', events: [{ seq: 41, topic: 'run.created', payload: { run_id: 'r' } }] },
      { type: 'state', state: 'waiting', fresh: false },
    ]);
    timers.at(-1)?.action();
    expect(requests[1]?.headers['Last-Event-ID']).toBe('41');
    requests[1]?.answer(body().response);
    await settle();
    expect(notices.at(-1)).toEqual({ type: 'state', state: 'open', fresh: false });
  });

  it('waits longer after each failure, for ever, and at once after a wake', async () => {
    const { requests, timers, stream } = lab();
    stream.use('t');
    const waits: number[] = [];
    for (let i = 0; i < 12; i++) {
      requests.at(-1)?.answer(new TypeError('no network'));
      await settle();
      waits.push(timers.at(-1)?.ms ?? -1);
      timers.at(-1)?.action();
    }
    expect(waits[0]).toBeLessThan(600);
    expect(waits.at(-1)).toBe(backoff(99, 0.5));
    expect([...waits].sort((a, b) => a - b)).toEqual(waits);
    const before = requests.length;
    requests.at(-1)?.answer(new TypeError('no network'));
    await settle();
    stream.wake();
    expect(requests.length).toBe(before + 1);
    stream.wake();
    expect(requests.length).toBe(before + 1);
  });

  it('gives up on a session that the server refuses, until there is another', async () => {
    const { requests, timers, notices, stream } = lab();
    stream.use('old');
    requests[0]?.answer(new Response('{}', { status: 401 }));
    await settle();
    expect(notices.at(-1)).toEqual({ type: 'unauthorized' });
    expect(timers).toHaveLength(0);
    stream.use('new');
    expect(requests).toHaveLength(2);
  });

  it('keeps its cursor over a pause', async () => {
    const { requests, stream } = lab();
    stream.use('t');
    const first = body();
    requests[0]?.answer(first.response);
    await settle();
    first.write('id: 9\ndata: {}\n\n');
    await settle();
    stream.pause();
    expect(requests[0]?.signal.aborted).toBe(true);
    stream.resume();
    expect(requests[1]?.headers['Last-Event-ID']).toBe('9');
  });
});
