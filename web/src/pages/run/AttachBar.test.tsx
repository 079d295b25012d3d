import { render, screen, within } from '@testing-library/react';
import { describe, expect, it } from 'vitest';
import { begin, type Lease } from '@/terminal/lease';
import type { Watcher } from '@/terminal/watchers';
import { wordsOf } from './AttachBar';
import { Watchers } from './Watchers';

const watching: Lease = { ...begin, phase: 'watching' };

describe('who types', () => {
  it('is the holder by name, nobody, or someone else when it is not known', () => {
    expect(wordsOf(watching, 'ann', true).title).toBe('ann is typing');
    expect(wordsOf(watching, null, true).title).toBe('Nobody is typing');
    expect(wordsOf(watching, undefined, true).title).toBe('Someone else is typing');
  });

  it('is who has taken over, until another one has taken it from them', () => {
    const taken: Lease = { ...watching, takenBy: 'ann' };
    expect(wordsOf(taken, undefined, true).title).toBe('ann has taken over the keyboard');
    expect(wordsOf(taken, 'ann', true).title).toBe('ann has taken over the keyboard');
    expect(wordsOf(taken, 'ben', true).title).toBe('ben is typing');
  });

  it('does not offer the keyboard to those who may only watch', () => {
    expect(wordsOf(watching, 'ann', true).about).toContain('take it over');
    expect(wordsOf(watching, 'ann', false).about).toBe(
      'You see everything. Your token may watch but not type.',
    );
  });
});

describe('who watches', () => {
  const one = (name: string, more: Partial<Watcher> = {}): Watcher => ({
    name,
    mode: 'attached',
    holds: false,
    you: false,
    since: new Date().toISOString(),
    ...more,
  });
  const you = one('me', { you: true, holds: true });

  it('is said in words, told politely and listed', () => {
    const { rerender } = render(<Watchers watchers={null} />);
    const status = screen.getByRole('status');
    expect(status.textContent).toBe('');
    rerender(<Watchers watchers={{ people: [you, one('ben'), one('carl', { mode: 'live' })], more: 0 }} />);
    // It must be the same element: a screen reader announces only changes inside an element.
    expect(screen.getByRole('status')).toBe(status);
    expect(status.textContent).toBe('You type, ben and carl watch');
    expect(screen.getByRole('button', { name: 'ben and carl watch. Show everyone' })).toBeTruthy();
    const rows = within(screen.getByRole('list', { hidden: true })).getAllByRole('listitem', {
      hidden: true,
    });
    expect(rows.map(({ textContent }) => textContent)).toEqual([
      expect.stringMatching(/^me \(you\)types/),
      expect.stringMatching(/^benwatches/),
      expect.stringMatching(/^carlwatches, not attached/),
    ]);
  });

  it('takes no room while nobody else is there', () => {
    render(<Watchers watchers={{ people: [you], more: 0 }} />);
    expect(screen.queryByRole('button')).toBeNull();
    expect(screen.getByRole('status').textContent).toBe('Nobody else is here');
  });

  it('cannot hide or reorder what stands around a name', () => {
    render(<Watchers watchers={{ people: [you, one('a\u202eb')], more: 3 }} />);
    expect(screen.getByRole('status').textContent).toBe('You type, a<U+202E>b and 3 more watch');
    expect(document.body.textContent).not.toContain('\u202e');
    expect(screen.getByText('and 3 more')).toBeTruthy();
  });
});
