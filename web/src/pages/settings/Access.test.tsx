import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { configure, fireEvent, render, screen, waitFor, within } from '@testing-library/react';
import { beforeEach, expect, it, vi } from 'vitest';
import type { Role } from '@/api/records';
import type { AccessToken, Replica, SinkState } from '@/api/schema.gen';
import { SettingsPage } from './SettingsPage';

// The timeouts only end a test that hangs: a busy machine is slow.
configure({ asyncUtilTimeout: 30_000 });
vi.setConfig({ testTimeout: 60_000 });
const at = '2026-01-02T03:04:05.000Z';
const token = (name: string, fields: Partial<AccessToken> = {}): AccessToken => ({
  id: `id-${name}`,
  name,
  role: 'operator',
  created_at: at,
  created_by: 'owner',
  last_used_at: null,
  expires_at: null,
  revoked_at: null,
  ...fields,
});
const sink = (name: string, fields: Partial<SinkState> = {}): SinkState => ({
  name,
  kind: 'webhook',
  on: ['needs_input', 'failed'],
  projects: [],
  waiting: 0,
  failures: 0,
  retry_at: null,
  sent_at: null,
  failed_at: null,
  error: '',
  ...fields,
});

let role: Role;
let tokens: AccessToken[];
let sinks: SinkState[];
let replicas: Replica[];
let asked: { what: string; key?: string; body?: unknown }[];
/** The answer to POST, if set. A thrown error is a lost answer. */
let post: (() => Response) | null;

const list = (items: unknown[]): Response => Response.json({ items, next_cursor: null });
const refused = (status: number, error: object): Response => Response.json({ error }, { status });

async function answer(url: string, init: RequestInit = {}): Promise<Response> {
  const headers = (init.headers ?? {}) as Record<string, string>;
  const path = url.replace('/api/v1', '').replace(/\?.*/, '');
  asked.push({
    what: `${init.method ?? 'GET'} ${path}`,
    key: headers['Idempotency-Key'],
    body: init.body && JSON.parse(String(init.body)),
  });
  if (path === '/me') return Response.json({ name: 'ann', role, expires_at: null });
  if (path === '/openapi.json') return Response.json({ info: { version: '1' } });
  if (init.method === 'POST' && post) return post();
  if (init.method === 'POST' && path === '/tokens') {
    const made = token('bob', { id: 'id-bob' });
    tokens = [made, ...tokens];
    return Response.json({ ...made, token: 'the-secret' }, { status: 201 });
  }
  if (init.method === 'DELETE') {
    tokens = tokens.map((each) => (path.endsWith(each.id) ? { ...each, revoked_at: at } : each));
    return new Response(null, { status: 204 });
  }
  if (init.method === 'POST') return new Response(null, { status: 204 });
  if (path === '/tokens') return list(tokens);
  if (path === '/replicas') return list(replicas);
  return path === '/notify' ? list(sinks) : list([]);
}

beforeEach(() => {
  role = 'admin';
  tokens = [];
  sinks = [];
  replicas = [];
  asked = [];
  post = null;
  vi.stubGlobal('fetch', answer);
});

function show(): void {
  render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
      <SettingsPage />
    </QueryClientProvider>,
  );
}
const press = (name: string) => fireEvent.click(screen.getByRole('button', { name }));
const posts = () => asked.filter((each) => each.what === 'POST /tokens');

it('is about this browser alone for those who are no admins', async () => {
  role = 'operator';
  show();
  expect(await screen.findByText('ann, operator')).toBeTruthy();
  expect(screen.queryByText('Access tokens')).toBeNull();
  expect(screen.queryByText('Notification sinks')).toBeNull();
  expect(screen.queryByText('Orchestrators')).toBeNull();
  expect(asked.some(({ what }) => what === 'GET /tokens' || what === 'GET /notify')).toBe(false);
});

it('lists tokens that work, and the others when asked to', async () => {
  tokens = [token('ann'), token('old', { revoked_at: at }), token('late', { expires_at: at })];
  show();
  expect(await screen.findByText('ann')).toBeTruthy();
  expect(screen.queryByText('old')).toBeNull();
  press('Show 2 that no longer work');
  const rows = within(screen.getByRole('list', { name: 'Access tokens' })).getAllByRole('listitem');
  expect(rows.map((row) => row.textContent)).toEqual([
    expect.stringContaining('ann'),
    expect.stringContaining('revoked'),
    expect.stringContaining('expired'),
  ]);
  expect(screen.getAllByRole('button', { name: /^Revoke/ })).toHaveLength(1);
});

it('makes a token, shows its secret once, and lists it', async () => {
  show();
  fireEvent.click(await screen.findByRole('button', { name: 'New token' }));
  fireEvent.change(screen.getByLabelText('Name'), { target: { value: 'bob' } });
  fireEvent.change(screen.getByLabelText('Expires'), { target: { value: '0' } });
  press('Make it');
  expect(await screen.findByText('the-secret')).toBeTruthy();
  expect(posts()[0]?.body).toEqual({ name: 'bob', role: 'operator' });
  press('Done');
  expect(await screen.findByText('bob')).toBeTruthy();
  expect(screen.queryByText('the-secret')).toBeNull();
});

it("repeats a lost request under the same key, and shows the server's words at the field", async () => {
  post = () => {
    throw new TypeError('lost');
  };
  show();
  fireEvent.click(await screen.findByRole('button', { name: 'New token' }));
  fireEvent.change(screen.getByLabelText('Name'), { target: { value: 'bob' } });
  press('Make it');
  expect(await screen.findByText('The server cannot be reached.')).toBeTruthy();
  post = () =>
    refused(400, { code: 'validation_failed', message: 'no', details: { fields: { name: 'is taken' } } });
  press('Make it');
  expect(await screen.findByText('Is taken.')).toBeTruthy();
  fireEvent.change(screen.getByLabelText('Name'), { target: { value: 'eve' } });
  press('Make it');
  await waitFor(() => expect(posts()).toHaveLength(3));
  const [first, second, third] = posts();
  expect(second).toEqual(first);
  expect(third?.key).not.toBe(first?.key);
});

it('says so when the secret of a token was lost with its answer', async () => {
  post = () => Response.json(token('bob'), { status: 201 });
  show();
  fireEvent.click(await screen.findByRole('button', { name: 'New token' }));
  fireEvent.change(screen.getByLabelText('Name'), { target: { value: 'bob' } });
  press('Make it');
  expect(await screen.findByText(/Revoke it and make another/)).toBeTruthy();
});

it('asks before it revokes, and warns of signing oneself out', async () => {
  tokens = [token('ann')];
  show();
  fireEvent.click(await screen.findByRole('button', { name: 'Revoke ann' }));
  expect(screen.getByText('You are signed in with this very token.')).toBeTruthy();
  expect(asked.some(({ what }) => what.startsWith('DELETE'))).toBe(false);
  press('Revoke');
  await waitFor(() => expect(asked.some(({ what }) => what === 'DELETE /tokens/id-ann')).toBe(true));
  expect(await screen.findByText('Only the owner’s so far.')).toBeTruthy();
});

it('tells how a sink fares, and what came of a test', async () => {
  sinks = [sink('phone', { failures: 3, failed_at: at, error: 'it answered 500', waiting: 2 })];
  show();
  const row = (await screen.findByText('phone')).closest('li') as HTMLElement;
  expect(row.textContent).toContain('needs input, failed · all projects · has received none yet');
  expect(row.textContent).toContain('failed 3 times in a row');
  expect(row.textContent).toContain('it answered 500');
  expect(row.textContent).toContain('2 waiting');
  post = () => refused(503, { code: 'sink_failed', message: 'the sink answered 500' });
  press('Test phone');
  expect(await screen.findByText('The sink answered 500.')).toBeTruthy();
  post = null;
  press('Test phone');
  expect(await screen.findByText('The sink accepted the test message.')).toBeTruthy();
});

it('lists the orchestrators, and drains one only after it was asked', async () => {
  const one = { version: '1.2', uplinks: 1, since: at, last_seen_at: at, leader: false };
  replicas = [
    { ...one, id: 'r1', address: 'https://a:7899', state: 'ready', leader: true },
    { ...one, id: 'r2', address: 'https://b:7899', state: 'gone', uplinks: 0 },
  ];
  show();
  await screen.findByText('https://a:7899');
  const rows = within(screen.getByRole('list', { name: 'Orchestrators' })).getAllByRole('listitem');
  expect(rows[0]?.textContent).toContain('https://a:7899readyleader1.2 · 1 worker');
  expect(rows[1]?.textContent).toContain('gone');
  expect(screen.getAllByRole('button', { name: /^Drain/ })).toHaveLength(1);
  press('Drain https://a:7899');
  expect(screen.getByText(/^No other orchestrator is ready/)).toBeTruthy();
  expect(asked.some(({ what }) => what.startsWith('POST'))).toBe(false);
  post = () => refused(409, { code: 'conflict', message: 'it is gone' });
  press('Drain');
  expect((await screen.findByRole('alert')).textContent).toBe('It is gone.');
  post = () => Response.json({ ...replicas[0], state: 'draining' });
  press('Drain');
  await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull());
  expect(asked.filter(({ what }) => what === 'POST /replicas/r1/drain')).toHaveLength(2);
});
