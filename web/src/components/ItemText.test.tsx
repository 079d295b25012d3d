import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { cleanup, configure, fireEvent, render, screen, waitFor } from '@testing-library/react';
import { beforeEach, expect, it, vi } from 'vitest';
import type { WorkItem } from '@/api/records';
import { item } from '@/live/fixtures';
import { ItemDescription } from './ItemText';

// The timeouts only end a test that hangs: a busy machine is slow.
configure({ asyncUtilTimeout: 30_000 });
vi.setConfig({ testTimeout: 60_000 });

let stored: WorkItem;
let version = 1;
/** A change by another client between the page's read and its write. */
let meanwhile: (() => void) | null = null;

/** answer is a server with one item, with versions. */
async function answer(_: string, init: RequestInit): Promise<Response> {
  const headers = init.headers as Record<string, string>;
  if (init.method === 'PATCH') {
    meanwhile?.();
    meanwhile = null;
    if (headers['If-Match'] !== `"${version}"`)
      return Response.json(
        { error: { code: 'precondition_failed', message: 'it has changed' } },
        { status: 412 },
      );
    stored = { ...stored, ...JSON.parse(String(init.body)) };
    version++;
  }
  return Response.json(stored, { headers: { ETag: `"${version}"` } });
}

beforeEach(() => {
  localStorage.clear();
  stored = item('a', { description: 'first' });
  meanwhile = null;
  vi.stubGlobal('fetch', answer);
});
function show(): void {
  render(
    <QueryClientProvider client={new QueryClient()}>
      <ItemDescription item={stored} />
    </QueryClientProvider>,
  );
}
const area = () => screen.getByRole<HTMLTextAreaElement>('textbox');
function write(text: string): void {
  fireEvent.click(screen.getByRole('button', { name: 'Edit description' }));
  fireEvent.change(area(), { target: { value: text } });
}
const press = (name: string) => fireEvent.click(screen.getByRole('button', { name }));

it('a draft survives Esc, the page and everything but saving and discarding', async () => {
  show();
  write('mine');
  fireEvent.keyDown(area(), { key: 'Escape' });
  cleanup();
  show();
  expect(area().value).toBe('mine');
  expect(screen.getByText(/^Not saved yet/)).toBeTruthy();
  press('Save');
  await waitFor(() => expect(stored.description).toBe('mine'));
  await screen.findByRole('button', { name: 'Edit description' });
  cleanup();
  show();
  expect(screen.queryByRole('textbox')).toBeNull();
});

it('what someone else saved meanwhile is shown, and both can be kept', async () => {
  show();
  write('mine');
  stored = { ...stored, description: 'theirs' };
  version++;
  press('Save');
  expect(await screen.findByText('theirs')).toBeTruthy();
  expect(stored.description).toBe('theirs');
  press('Put mine below theirs');
  expect(area().value).toBe('theirs\n\nmine');
  press('Save');
  await waitFor(() => expect(stored.description).toBe('theirs\n\nmine'));
});

it('a save that is overtaken at the last moment overwrites nothing', async () => {
  show();
  write('mine');
  meanwhile = () => {
    stored = { ...stored, description: 'theirs' };
    version++;
  };
  press('Save');
  expect(await screen.findByText('theirs')).toBeTruthy();
  expect(stored.description).toBe('theirs');
});

it('a change of another field is no conflict', async () => {
  show();
  write('mine');
  meanwhile = () => {
    stored = { ...stored, title: 'renamed' };
    version++;
  };
  press('Save');
  await waitFor(() => expect(stored).toMatchObject({ title: 'renamed', description: 'mine' }));
});
