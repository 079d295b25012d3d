import { act, cleanup, fireEvent, render, screen } from '@testing-library/react';
import { useImperativeHandle } from 'react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Event } from '@/api/records';
import type { GridProps } from '@/terminal/gridProps';
import type { Recording } from '@/terminal/recording';
import { momentOf, titlesOf } from './moment';
import { Player } from './Player';

// The timeouts only end a test that hangs: a busy machine is slow.
vi.setConfig({ testTimeout: 60_000 });

// The content of the terminal: everything written since the last reset.
let shown = '';
vi.mock('@/terminal/Grid', () => ({
  default: function Grid({ ref }: GridProps) {
    useImperativeHandle(ref, () => ({
      write(data, done) {
        shown = String(data) === '\x1bc' ? '' : shown + String(data);
        done?.();
      },
      resize: () => {},
      focus: () => {},
    }));
    return null;
  },
}));

beforeEach(() => {
  shown = '';
  vi.useFakeTimers({ toFake: ['requestAnimationFrame', 'cancelAnimationFrame', 'performance'] });
});
afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

/** a at the start, b after one second, then one minute of idle time, then c and d. */
const recording: Recording = {
  cols: 80,
  rows: 24,
  steps: [
    { at: 0, data: 'a' },
    { at: 1_000, data: 'b' },
    { at: 61_000, data: 'c' },
    { at: 62_000, data: 'd' },
  ],
  marks: [
    { at: 0, label: 'run.started' },
    { at: 61_000, label: 'run.signal_received' },
    { at: 62_000, label: 'run.finished' },
  ],
  times: [0, 1_000, 61_000, 62_000],
  length: 62_000,
  cut: false,
};
const titles = ['Session started', 'Completed', 'Run finished'];
const time = (): string | null | undefined => document.querySelector('[data-time]')?.textContent;
/** passes advances the clock and renders what changes. */
const passes = (ms: number): Promise<void> =>
  act(async () => {
    await vi.advanceTimersByTimeAsync(ms);
  });
const press = (name: string): boolean => fireEvent.click(screen.getByRole('button', { name }));
const seek = (at: number): boolean =>
  fireEvent.change(screen.getByRole('slider', { name: 'Position' }), { target: { value: String(at) } });

it('shows the screen of any moment, forwards and backwards', async () => {
  render(<Player recording={recording} titles={titles} />);
  await passes(0);
  expect([shown, time()]).toEqual(['a', '0:00 / 1:02']);
  seek(61_500);
  await passes(0);
  expect([shown, time()]).toEqual(['abc', '1:01 / 1:02']);
  seek(500);
  await passes(0);
  expect([shown, time()]).toEqual(['a', '0:00 / 1:02']);
});

it('stands where it starts, and each event leads to its moment', async () => {
  render(<Player recording={recording} titles={titles} start={1_000} />);
  await passes(0);
  expect([shown, time()]).toEqual(['ab', '0:01 / 1:02']);
  fireEvent.click(screen.getByRole('button', { name: '1:02 Run finished' }));
  await passes(0);
  expect([shown, time()]).toEqual(['abcd', '1:02 / 1:02']);
});

it('plays at the speed that is chosen, with all its idle time', async () => {
  render(<Player recording={recording} titles={titles} />);
  fireEvent.click(screen.getByRole('checkbox', { name: 'Skip idle time' }));
  fireEvent.click(screen.getByRole('radio', { name: '4×' }));
  press('Play');
  await passes(5_000);
  expect(shown).toBe('ab');
  expect(time()).toMatch(/^0:(19|20) /);
  press('Pause');
  const paused = time();
  await passes(5_000);
  expect(time()).toBe(paused);
});

it('passes idle time quickly, stops at the end, and begins anew from there', async () => {
  render(<Player recording={recording} titles={titles} />);
  press('Play');
  await passes(2_900);
  expect(shown).toBe('ab');
  await passes(2_000);
  expect([shown, time()]).toEqual(['abcd', '1:02 / 1:02']);
  press('Play');
  await passes(100);
  expect([shown, time()]).toEqual(['a', '0:00 / 1:02']);
});

it('finds the moment of an event among those of its topic and attempt', () => {
  const event = (seq: number, topic: string, attempt: number) =>
    ({ seq, topic, payload: { attempt }, created_at: '' }) as unknown as Event;
  const events = [
    event(9, 'run.finished', 2),
    event(8, 'run.signal_received', 2),
    event(7, 'run.started', 2),
    event(3, 'run.signal_received', 1),
  ];
  expect(momentOf(recording.marks, events, 8)).toBe(61_000);
  expect(momentOf(recording.marks, events, 9)).toBe(62_000);
  // An event after the end has no mark, and an unknown event has no time.
  expect(momentOf(recording.marks, [event(10, 'run.finished', 2), ...events], 10)).toBeNull();
  expect(momentOf(recording.marks, events, 99)).toBeNull();
});

it('says of a mark what its event says, and no more than its topic where that is not known', () => {
  const ended = {
    seq: 9,
    topic: 'run.finished',
    payload: { attempt: 2, status: 'exited', exit_code: 0 },
    created_at: '',
  } as unknown as Event;
  const [, signal, finished] = titlesOf(recording.marks, [ended], 2);
  expect([signal, finished]).toEqual(['Run signal received', 'Run finished']);
  expect(titlesOf(recording.marks, [ended], 1)[2]).toBe('Run finished');
  expect(titlesOf([{ at: 0, label: 'workspace.land_failed' }], [], 1)).toEqual(['Workspace land failed']);
});
