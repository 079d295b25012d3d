import { afterEach, expect, it, vi } from 'vitest';
import { all, call, urlOf } from './client';
import { noteSession, session, takeLegacyToken, takeTokenFromHash } from './session';

afterEach(() => {
  noteSession(null);
  vi.unstubAllGlobals();
});

const answer = (status: number, body: unknown) => new Response(JSON.stringify(body), { status });

it('fills paths and repeats lists in queries', () => {
  expect(urlOf('/runs/{id}', { id: 'a/b' })).toBe('/api/v1/runs/a%2Fb');
  expect(urlOf('/runs', {}, { status: ['pending', 'running'], host_id: undefined, limit: 5 })).toBe(
    '/api/v1/runs?status=pending&status=running&limit=5',
  );
});

it('signs out when the session is refused, and not when another token is tried', async () => {
  noteSession('mine');
  vi.stubGlobal('fetch', async () => answer(401, { error: { code: 'unauthorized', message: 'no' } }));
  await expect(call('POST /session', { body: { token: 'other' } })).rejects.toMatchObject({ status: 401 });
  expect(session()).toBe('mine');
  await expect(call('GET /projects', {})).rejects.toMatchObject({ code: 'unauthorized' });
  expect(session()).toBeNull();
});

it('sends the header that foreign pages cannot send, with everything that changes something', async () => {
  const sent: (string | undefined)[] = [];
  vi.stubGlobal('fetch', async (_: string, init: RequestInit) => {
    const headers = init.headers as Record<string, string>;
    expect(headers.Authorization).toBeUndefined();
    sent.push(headers['Svc-Request']);
    return answer(200, {});
  });
  await call('GET /me', {});
  await call('POST /hosts/{id}/enable', { path: { id: 'x' } });
  await call('DELETE /session', {});
  expect(sent).toEqual([undefined, '1', '1']);
});

it('removes the token that an older page kept', () => {
  localStorage.setItem('svc.token', 'abc');
  expect(takeLegacyToken()).toBe('abc');
  expect(takeLegacyToken()).toBeNull();
});

it('tells a refusal from a server that is not there', async () => {
  vi.stubGlobal('fetch', async () =>
    answer(409, { error: { code: 'has_children', message: 'no', details: { a: 1 } } }),
  );
  await expect(call('DELETE /work-items/{id}', { path: { id: 'x' } })).rejects.toMatchObject({
    status: 409,
    code: 'has_children',
    details: { a: 1 },
  });
  vi.stubGlobal('fetch', async () => Promise.reject(new TypeError('network')));
  await expect(call('GET /projects', {})).rejects.toMatchObject({ status: 0, unreachable: true });
});

it('reads every page of a list', async () => {
  const asked: string[] = [];
  vi.stubGlobal('fetch', async (url: string) => {
    asked.push(url);
    return answer(
      200,
      asked.length === 1 ? { items: [1, 2], next_cursor: 'n' } : { items: [3], next_cursor: null },
    );
  });
  expect(await all('GET /hosts', {})).toEqual([1, 2, 3]);
  expect(asked[1]).toContain('cursor=n');
});

it('finds the token in a sign-in link', () => {
  expect(takeTokenFromHash('#token=abc')).toBe('abc');
  expect(takeTokenFromHash('#other')).toBeNull();
  expect(takeTokenFromHash('')).toBeNull();
});
