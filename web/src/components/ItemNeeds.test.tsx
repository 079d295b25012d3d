import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { cleanup, configure, fireEvent, render, screen, within } from '@testing-library/react';
import { beforeEach, expect, it, vi } from 'vitest';
import type { WorkItem } from '@/api/records';
import { noteState } from '@/live/connection';
import { item } from '@/live/fixtures';
import { ItemNeeds, offersOf } from './ItemNeeds';

// The timeouts only end a test that hangs: a busy machine is slow.
configure({ asyncUtilTimeout: 30_000 });
vi.setConfig({ testTimeout: 60_000 });
const epic = item('epic', { kind: 'epic', title: 'Shop', number: 1 });
const build = item('build', { title: 'Build', number: 2, parent_id: 'epic', path: 'epic/build' });
const design = item('design', { title: 'Design', number: 3 });
const test = item('test', { title: 'Test', number: 12, needs: ['build'], blocked: true });
const items = [epic, build, design, test];

const asked: string[] = [];
let refusal: string | null = null;

beforeEach(() => {
  asked.length = 0;
  refusal = null;
  noteState('open');
  vi.stubGlobal('fetch', async (path: string, { method }: RequestInit) => {
    if (path.endsWith('/me')) return Response.json({ name: 'ann', role: 'operator', expires_at: null });
    if (path.includes('/needs/')) {
      asked.push(`${method} ${path}`);
      if (!refusal) return new Response(null, { status: 204 });
      const error = { code: 'need_cycle', message: refusal, details: { path: ['design', 'test', 'build'] } };
      return Response.json({ error }, { status: 400 });
    }
    if (/work-items\/\w+$/.test(path)) return Response.json(test);
    return Response.json({ items, next_cursor: null });
  });
});

const open = (of: WorkItem) =>
  render(
    <QueryClientProvider client={new QueryClient()}>
      <ItemNeeds item={of} onOpen={() => {}} />
    </QueryClientProvider>,
  );

it('offers everything but the item itself, what is above and below it, and what it needs already', () => {
  const titles = (of: WorkItem, search = '') => offersOf(items, of, search).map(({ title }) => title);
  expect(titles(epic)).toEqual(['Design', 'Test']);
  expect(titles(build)).toEqual(['Design', 'Test']);
  expect(titles(test)).toEqual(['Shop', 'Design']);
  expect(titles(build, 'p-12')).toEqual(['Test']);
});

it('adds a need with the keyboard alone', async () => {
  open(test);
  fireEvent.click(screen.getByRole('button', { name: 'Add a need' }));
  const search = screen.getByRole('combobox', { name: 'Search for what it needs' });
  await screen.findByRole('option', { name: /Shop/ });
  fireEvent.keyDown(search, { key: 'ArrowDown' });
  expect(screen.getByRole('option', { name: /Design/ }).getAttribute('aria-selected')).toBe('true');
  fireEvent.keyDown(search, { key: 'Enter' });
  await vi.waitFor(() => expect(asked).toEqual(['PUT /api/v1/work-items/test/needs/design']));
  await vi.waitFor(() => expect(screen.queryByRole('combobox')).toBeNull());
});

it('says in the server’s words why a need would go in a circle, and keeps what was searched for', async () => {
  refusal = 'Design needs Test needs Build needs Design';
  open(design);
  fireEvent.click(screen.getByRole('button', { name: 'Add a need' }));
  fireEvent.click(await screen.findByRole('option', { name: /Test/ }));
  expect((await screen.findByRole('alert')).textContent).toBe('Design needs Test needs Build needs Design.');
  expect(screen.getByRole('combobox')).toBeTruthy();
});

it('shows what it needs and what needs it, and lets a need go', async () => {
  open(build);
  const by = await screen.findByRole('list', { name: 'Needed by' });
  expect(within(by).getByText(/Test/)).toBeTruthy();
  cleanup();
  open(test);
  fireEvent.click(await screen.findByRole('button', { name: 'No longer need Build' }));
  await vi.waitFor(() => expect(asked).toEqual(['DELETE /api/v1/work-items/test/needs/build']));
});
