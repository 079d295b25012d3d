import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { createMemoryHistory, createRootRoute, createRouter, RouterProvider } from '@tanstack/react-router';
import { cleanup, configure, fireEvent, render, screen } from '@testing-library/react';
import type { ReactNode } from 'react';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { ApiError } from '@/api/error';
import type { Change, Landing } from '@/api/schema.gen';
import { workspace } from '@/live/fixtures';
import { LandDialog, outcomeOf, refusalOf } from './LandDialog';
import { rebasePrompt } from './LandingState';
import { SendDialog } from './SendDialog';

// The timeouts only end a test that hangs: a busy machine is slow.
configure({ asyncUtilTimeout: 30_000 });
vi.setConfig({ testTimeout: 60_000 });
beforeEach(() => localStorage.clear());
function show(node: ReactNode): void {
  const router = createRouter({
    routeTree: createRootRoute({ component: () => node }),
    history: createMemoryHistory(),
  });
  render(
    <QueryClientProvider client={new QueryClient()}>
      <RouterProvider router={router as never} />
    </QueryClientProvider>,
  );
}

describe('sending comments', () => {
  it('shows what the agent gets, and a refusal in words; the message stays', async () => {
    const asked: { url: string; body: unknown }[] = [];
    vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
      asked.push({ url, body: JSON.parse(String(init.body)) });
      return url.includes('preview=true')
        ? Response.json({ prompt: 'main.go:3 return the error', run_id: null, message_id: null })
        : Response.json(
            { error: { code: 'conflict', message: 'the agent cannot go on with its conversation' } },
            { status: 409 },
          );
    });
    show(<SendDialog workspaceId="w" drafts={2} onClose={() => {}} />);
    expect(await screen.findByText('main.go:3 return the error')).toBeTruthy();
    expect(asked.every(({ url }) => url.includes('preview=true'))).toBe(true);
    fireEvent.change(screen.getByLabelText(/^Message/), { target: { value: 'Please' } });
    fireEvent.click(screen.getByRole('button', { name: 'Send' }));
    const alert = await screen.findByRole('alert');
    expect(alert.textContent).toBe(
      'The agent cannot go on with its conversation. Nothing was sent; the drafts stay.',
    );
    expect(asked.find(({ url }) => !url.includes('preview'))?.body).toEqual({ message: 'Please' });
    expect(screen.getByLabelText<HTMLTextAreaElement>(/^Message/).value).toBe('Please');
  });
});

describe('landing', () => {
  it('says what will happen', () => {
    expect(outcomeOf('squash', 'main', 'svc/1')).toMatch(/^main gets one commit on top, by you/);
    expect(outcomeOf('merge', 'main', 'svc/1')).toMatch(/^main gets a merge commit/);
    expect(outcomeOf('push', 'main', 'svc/1')).toMatch(/the branch svc\/1, .* No other branch changes\.$/);
  });

  it('tells of comments that the agent has not read', async () => {
    const change = { checkpoint: 1, since: 0, files: [] } as unknown as Change;
    const dialog = (drafts: number) => (
      <LandDialog workspace={workspace('w')} change={change} title="T" drafts={drafts} onClose={() => {}} />
    );
    show(dialog(1));
    expect(await screen.findByText('1 comment was not sent: the agent has not read it.')).toBeTruthy();
    cleanup();
    show(dialog(0));
    expect(await screen.findByRole('button', { name: 'Land it' })).toBeTruthy();
    expect(screen.queryByText(/not sent/)).toBeNull();
  });

  it('says why it was refused, and what to do', () => {
    const moved = new ApiError(409, 'change_moved', 'moved', { checkpoint: 7 });
    expect(refusalOf(moved)).toBe(
      'Something was written since you read it: checkpoint 7 is newer. Nothing was landed. Read it, then land it.',
    );
    expect(refusalOf(new ApiError(409, 'workspace_busy', 'busy'))).toContain('when the run has ended');
    expect(refusalOf(new ApiError(409, 'conflict', 'it is being landed'))).toBe('It is being landed.');
  });

  it('asks an agent to bring a copy up to date, with the files in conflict', () => {
    const landing = { into: 'main', conflicts: ['a.go', 'b.go'] } as Landing;
    expect(rebasePrompt(landing)).toMatch(/the branch main: .*\n\nFiles in conflict:\na\.go\nb\.go$/s);
  });
});
