import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { cleanup, render, screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import type { Comment } from '@/api/schema.gen';
import { Thread } from './Thread';

const comment: Comment = {
  id: 'c',
  workspace_id: 'w',
  checkpoint: 1,
  path: 'a.go',
  side: 'new',
  line: 1,
  end_line: null,
  quote: 'a',
  body: 'why?',
  author: 'ann',
  state: 'sent',
  run_id: 'r',
  message_id: 'm',
  delivery: 'acknowledged',
  delivery_reason: '',
  note: '',
  anchor: 'same',
  anchor_path: 'a.go',
  anchor_line: 1,
  created_at: '2026-01-01T00:00:00Z',
  updated_at: '2026-01-01T00:00:00Z',
};

function said(changed: Partial<Comment>): string {
  render(
    <QueryClientProvider client={new QueryClient()}>
      <Thread comments={[{ ...comment, ...changed }]} />
    </QueryClientProvider>,
  );
  const text = screen.getByRole('listitem').textContent ?? '';
  cleanup();
  return text;
}

it('says why a comment is not known to have arrived, and that one which did not can be sent again', () => {
  expect(said({})).not.toMatch(/arrived|delivered/);
  expect(said({ delivery: 'unconfirmed', delivery_reason: 'outcome_unknown' })).toMatch(
    /Sent.*Not known whether it arrived: the host’s answer was lost\.$/,
  );
  expect(said({ state: 'draft', delivery: 'undelivered', delivery_reason: 'run_ended' })).toMatch(
    /Draft, not sent.*Not delivered: the session ended\. It can be sent again\.$/,
  );
});
