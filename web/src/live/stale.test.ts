import { QueryClient, QueryObserver } from '@tanstack/react-query';
import { describe, expect, it } from 'vitest';
import { amend, stale } from './stale';

const key = ['workspace', 'w'];

/** Server holds its answers back until answer is called. A request gets the version at the time it was sent. */
class Server {
  version = 1;
  asked = 0;
  private readonly open: (() => void)[] = [];

  ask = (): Promise<number> => {
    this.asked++;
    const seen = this.version;
    return new Promise((resolve) => this.open.push(() => resolve(seen)));
  };

  /** answer finishes every open request, and lets the client send the requests that follow. */
  async answer(): Promise<void> {
    for (const each of this.open.splice(0)) each();
    await new Promise((resolve) => setTimeout(resolve));
  }
}

/** lab returns a client whose answers never expire by themselves, and the server of its one query. */
function lab() {
  const client = new QueryClient({
    defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY, retry: false, networkMode: 'always' } },
  });
  const server = new Server();
  const mount = () =>
    new QueryObserver(client, { queryKey: key, queryFn: server.ask }).subscribe(() => undefined);
  const prefetch = () => void client.prefetchQuery({ queryKey: key, queryFn: server.ask });
  /** happens makes a change at the server and applies its event. */
  const happens = () => {
    server.version++;
    return stale(client, { queryKey: key });
  };
  return { client, server, mount, prefetch, happens, data: () => client.getQueryData(key) };
}

describe('stale', () => {
  it('has an idle query that is shown read again', async () => {
    const { server, mount, happens, data } = lab();
    mount();
    await server.answer();
    void happens();
    await server.answer();
    expect([data(), server.asked]).toEqual([2, 2]);
  });

  it('has a first answer that was under way asked again', async () => {
    const { server, mount, happens, data } = lab();
    mount();
    void happens();
    await server.answer();
    expect(data()).toBe(1); // shown until the newer one arrives
    await server.answer();
    expect([data(), server.asked]).toEqual([2, 2]);
  });

  it('drops a later answer that was under way', async () => {
    const { client, server, mount, happens, data } = lab();
    mount();
    await server.answer();
    server.version++;
    void client.refetchQueries({ queryKey: key });
    void happens();
    await server.answer();
    expect([data(), server.asked]).toEqual([3, 3]);
  });

  it('keeps a query stale whose answer was under way while nothing showed it', async () => {
    const { client, server, mount, prefetch, happens, data } = lab();
    prefetch();
    void happens();
    await server.answer();
    expect(client.getQueryState(key)).toMatchObject({ data: 1, isInvalidated: true, fetchStatus: 'idle' });
    mount();
    await server.answer();
    expect([data(), server.asked]).toEqual([2, 2]);
  });

  it('keeps a query stale whose answer was under way when it was no longer shown', async () => {
    const { client, server, happens, data } = lab();
    // The query function reads the signal. So its request is cancelled when its last observer leaves, and its state is
    // reset.
    const queryFn = ({ signal }: { signal: AbortSignal }) => (signal.aborted ? 0 : server.ask());
    const mount = () => new QueryObserver(client, { queryKey: key, queryFn }).subscribe(() => undefined);
    const unmount = mount();
    await server.answer();
    void client.refetchQueries({ queryKey: key });
    void happens();
    unmount();
    await server.answer();
    expect(client.getQueryState(key)).toMatchObject({ data: 1, isInvalidated: true });
    mount();
    await server.answer();
    expect(data()).toBe(2);
  });

  it('asks once more for a burst of events, whatever was under way', async () => {
    for (const state of ['idle', 'first', 'later'] as const) {
      const { client, server, mount, happens, data } = lab();
      mount();
      if (state !== 'first') await server.answer();
      if (state === 'later') void client.refetchQueries({ queryKey: key });
      const before = server.asked;
      for (let i = 0; i < 20; i++) void happens();
      await server.answer();
      await server.answer();
      await server.answer();
      expect(data(), state).toBe(21);
      // At most one request that the first event starts, and one that is sent after all events.
      expect(server.asked - before, state).toBeLessThanOrEqual(2);
      expect(client.isFetching(), state).toBe(0);
    }
  });

  it('does not ask for ever', async () => {
    const { client, server, mount, happens } = lab();
    mount();
    void happens();
    for (let i = 0; i < 10; i++) await server.answer();
    expect([server.asked, client.isFetching()]).toEqual([2, 0]);
  });

  it('asks again after a request that failed', async () => {
    const { client, happens } = lab();
    let asked = 0;
    let fail: (why: Error) => void = () => {};
    const queryFn = () =>
      ++asked === 1 ? new Promise<number>((_, reject) => (fail = reject)) : Promise.resolve(2);
    new QueryObserver(client, { queryKey: key, queryFn }).subscribe(() => undefined);
    const done = happens();
    fail(new Error('unreachable'));
    await done;
    expect([client.getQueryData(key), asked]).toEqual([2, 2]);
  });

  it('is over when the newer answer is there', async () => {
    const { server, mount, happens, data } = lab();
    mount();
    let over = false;
    const done = happens().then(() => (over = true));
    await server.answer();
    expect(over).toBe(false);
    await server.answer();
    await done;
    expect(data()).toBe(2);
  });

  it('leaves other queries as they are, and those that are gone', async () => {
    const { client, server, prefetch, happens } = lab();
    client.setQueryData(['other'], 1);
    prefetch();
    const done = happens();
    client.removeQueries({ queryKey: key });
    await server.answer();
    await done;
    expect(client.getQueryState(['other'])?.isInvalidated).toBe(false);
    expect([client.getQueryState(key), server.asked]).toEqual([undefined, 1]);
  });
});

describe('amend', () => {
  it('changes what a query holds, and leaves it as stale as it was', () => {
    const client = new QueryClient();
    client.setQueryData(key, 1);
    amend<number>(client, key, (now) => now + 1);
    expect(client.getQueryState(key)).toMatchObject({ data: 2, isInvalidated: false });
    void stale(client, { queryKey: key });
    amend<number>(client, key, (now) => now + 1);
    expect(client.getQueryState(key)).toMatchObject({ data: 3, isInvalidated: true });
  });

  it('leaves a query stale that nobody waits for any more', async () => {
    const { client, server, happens } = lab();
    const queryFn = ({ signal }: { signal: AbortSignal }) => (signal.aborted ? 0 : server.ask());
    const unmount = new QueryObserver(client, { queryKey: key, queryFn }).subscribe(() => undefined);
    await server.answer();
    void happens();
    amend<number>(client, key, (now) => now + 10);
    unmount();
    await server.answer();
    expect(client.getQueryState(key)).toMatchObject({ data: 11, isInvalidated: true });
  });

  it('makes nothing of a query that holds nothing', () => {
    const client = new QueryClient();
    amend<number>(client, key, (now) => now + 1);
    expect(client.getQueryState(key)).toBeUndefined();
  });
});
