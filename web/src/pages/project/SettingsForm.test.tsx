import { QueryClient, QueryClientProvider, useQuery } from '@tanstack/react-query';
import { configure, fireEvent, render, screen, waitFor } from '@testing-library/react';
import { beforeEach, expect, it, vi } from 'vitest';
import type { Project, Role } from '@/api/records';
import { keys } from '@/data/keys';
import { projectsQuery } from '@/data/queries';
import { noteState } from '@/live/connection';
import { project } from '@/live/fixtures';
import { SettingsForm } from './SettingsForm';

// The timeouts only end a test that hangs: a busy machine is slow.
configure({ asyncUtilTimeout: 30_000 });
vi.setConfig({ testTimeout: 60_000 });
let stored: Project;
let version: number;
let role: Role;
let patches: Record<string, unknown>[];
/** The error with which the next PATCH is refused. */
let refuse: object | null;
/** A change by another client between the page's read and its write. */
let meanwhile: Partial<Project> | null;
let client: QueryClient;

/** answer is a server with one project, with versions. */
async function answer(url: string, init: RequestInit): Promise<Response> {
  if (url.endsWith('/me')) return Response.json({ name: 'ann', role, expires_at: null });
  if (url.includes('/providers')) return Response.json({ items: [], next_cursor: null });
  if (/\/projects\?/.test(url)) return Response.json({ items: [stored], next_cursor: null });
  if (init.method === 'PATCH') {
    if (meanwhile) {
      stored = { ...stored, ...meanwhile };
      meanwhile = null;
      version++;
    }
    const headers = init.headers as Record<string, string>;
    if (headers['If-Match'] !== `"${version}"`)
      return Response.json({ error: { code: 'precondition_failed', message: 'changed' } }, { status: 412 });
    if (refuse) return Response.json({ error: refuse }, { status: 400 });
    const patch = JSON.parse(String(init.body));
    patches.push(patch);
    stored = { ...stored, ...patch };
    version++;
  }
  return Response.json(stored, { headers: { ETag: `"${version}"` } });
}

beforeEach(() => {
  stored = project('p', { name: 'Checkout', repo: '/srv/repo', isolation: 'clone', base: 'main' });
  version = 1;
  role = 'operator';
  patches = [];
  refuse = null;
  meanwhile = null;
  noteState('open');
  vi.stubGlobal('fetch', answer);
  client = new QueryClient({ defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY } } });
});

function Page() {
  const { data } = useQuery(projectsQuery);
  return data?.[0] ? <SettingsForm project={data[0]} /> : null;
}

async function show(): Promise<void> {
  render(
    <QueryClientProvider client={client}>
      <Page />
    </QueryClientProvider>,
  );
  await screen.findByLabelText('Name');
}

const field = (label: string | RegExp) => screen.getByLabelText<HTMLInputElement>(label);
const type = (label: string | RegExp, value: string) => fireEvent.change(field(label), { target: { value } });
const press = (name: string) => fireEvent.click(screen.getByRole('button', { name }));

it('saves what was changed and nothing else', async () => {
  await show();
  type('Keep for days', '30');
  type(/^Runs at once/, '4');
  type(/^Setup script/, ' npm ci\n');
  expect(screen.getByText('3 changes are not saved.')).toBeTruthy();
  press('Save');
  await waitFor(() => expect(patches).toEqual([{ keep_days: 30, max_runs: 4, setup: ' npm ci\n' }]));
  await waitFor(() => expect(screen.queryByRole('button', { name: 'Save' })).toBeNull());
  type(/^Runs at once/, '');
  press('Save');
  await waitFor(() => expect(patches[1]).toEqual({ max_runs: null }));
});

it("shows the server's words at the field, keeps what was typed and goes there", async () => {
  refuse = {
    code: 'validation_failed',
    message: 'setup_timeout: must be 1s to 24h',
    details: { fields: { setup_timeout: 'must be 1s to 24h' } },
  };
  await show();
  type('Setup may take', '100h');
  press('Save');
  expect(await screen.findByText('Must be 1s to 24h.')).toBeTruthy();
  expect(field('Setup may take').getAttribute('aria-invalid')).toBe('true');
  expect(field('Setup may take').value).toBe('100h');
  await waitFor(() => expect(document.activeElement).toBe(field('Setup may take')));
  expect(field('Name').getAttribute('aria-invalid')).toBeNull();
});

it('puts a conflict that names its field there too', async () => {
  refuse = { code: 'conflict', message: 'the slug "x" is taken; choose another', details: { field: 'slug' } };
  await show();
  type('Slug', 'x');
  press('Save');
  expect(await screen.findByText('The slug "x" is taken; choose another.')).toBeTruthy();
  expect(field('Slug').getAttribute('aria-invalid')).toBe('true');
});

it('goes on when someone else changed another field meanwhile', async () => {
  meanwhile = { base: 'next' };
  await show();
  type('Name', 'Basket');
  press('Save');
  await waitFor(() => expect(stored).toMatchObject({ name: 'Basket', base: 'next' }));
  await waitFor(() => expect(field(/^Base/).value).toBe('next'));
});

it('never saves over what someone else made of the same field, and leaves the choice', async () => {
  meanwhile = { name: 'Theirs' };
  await show();
  type('Name', 'Mine');
  press('Save');
  expect((await screen.findByText('Theirs')).parentElement?.textContent).toMatch(/^Someone else/);
  expect(stored.name).toBe('Theirs');
  expect(field('Name').value).toBe('Mine');
  expect(screen.getByRole('button', { name: 'Save' })).toHaveProperty('disabled', true);
  press('Replace theirs with mine');
  press('Save');
  await waitFor(() => expect(stored.name).toBe('Mine'));
});

it('sees a change of the same field as it comes, and can take it', async () => {
  await show();
  type('Name', 'Mine');
  client.setQueryData(keys.projects, [{ ...stored, name: 'Theirs' }]);
  expect(await screen.findByText('Theirs')).toBeTruthy();
  press('Take theirs');
  expect(field('Name').value).toBe('Theirs');
  expect(screen.queryByRole('button', { name: 'Save' })).toBeNull();
});

it('shows the isolation that a new repository brings, and leaves it to the server', async () => {
  stored = project('p');
  await show();
  expect(field('Isolation').value).toBe('none');
  type(/^Repository/, '/srv/repo');
  expect(field('Isolation').value).toBe('clone');
  press('Save');
  await waitFor(() => expect(patches).toEqual([{ repo: '/srv/repo' }]));
});

it('lets a viewer read and nothing else', async () => {
  role = 'viewer';
  await show();
  expect(await screen.findByText(/needs the role operator/)).toBeTruthy();
  expect(field('Name').disabled).toBe(true);
});
