import { describe, expect, it } from 'vitest';
import { begin, type Lease, type LeaseEvent, maySend, step } from './lease';

const frame = (frame: Extract<LeaseEvent, { type: 'frame' }>['frame']): LeaseEvent => ({
  type: 'frame',
  frame,
});
const acquired = frame({ type: 'lease_acquired', run_id: 'r', attached_at: '2026-01-01T00:00:00.000Z' });
const held = frame({ type: 'error', code: 'lease_held', message: 'someone else is typing' });
const away = frame({ type: 'error', code: 'host_not_connected', message: 'the host is not connected' });
const data = frame({ type: 'data', bytes: '' });
const through = (...events: LeaseEvent[]): Lease => events.reduce(step, begin);

describe('the lease', () => {
  it('belongs to the first client', () => {
    const lease = through({ type: 'opened' }, acquired);
    expect(lease).toMatchObject({ phase: 'holder', since: '2026-01-01T00:00:00.000Z' });
    expect(maySend(lease)).toBe(true);
  });

  it('held by someone else lets this client watch, and comes when they leave', () => {
    const watching = through({ type: 'opened' }, held, data);
    expect(watching.phase).toBe('watching');
    expect(maySend(watching)).toBe(false);
    expect(step(watching, acquired).phase).toBe('holder');
  });

  it('taken over is watched, with the name of who took it, until it is taken back', () => {
    const taken = through(
      { type: 'opened' },
      acquired,
      away,
      frame({ type: 'error', code: 'lease_taken', message: 'ann has taken over', by: 'ann' }),
    );
    expect(taken).toMatchObject({ phase: 'watching', takenBy: 'ann', since: null, notice: null });
    expect(maySend(taken)).toBe(false);
    expect(step(taken, acquired)).toMatchObject({ phase: 'holder', takenBy: null });
  });

  it('released is free, and the next key may take it', () => {
    const free = through({ type: 'opened' }, acquired, { type: 'released' });
    expect(free).toMatchObject({ phase: 'free', since: null });
    expect(maySend(free)).toBe(true);
    expect(step(free, held).phase).toBe('watching');
    expect(through({ type: 'opened' }, held, { type: 'released' }).phase).toBe('watching');
  });

  it('stays through the loss of the host, which is told until output flows again', () => {
    const lost = through({ type: 'opened' }, acquired, away);
    expect(lost).toMatchObject({ phase: 'holder', notice: 'the host is not connected' });
    expect(step(lost, data)).toMatchObject({ phase: 'holder', notice: null });
  });

  it('is lost with its socket and asked for again by the next', () => {
    const lost = through({ type: 'opened' }, acquired, { type: 'closed', code: 1006, reason: '' });
    expect(lost).toMatchObject({ phase: 'lost', since: null, failures: 1 });
    expect(maySend(lost)).toBe(false);
    expect([{ type: 'opened' } as const, held].reduce(step, lost)).toMatchObject({
      phase: 'watching',
      failures: 0,
    });
    expect(step(lost, { type: 'closed', code: 1006, reason: '' }).failures).toBe(2);
  });

  it('ends with the run, and nothing begins it again', () => {
    const ended = through({ type: 'opened' }, acquired, {
      type: 'closed',
      code: 1000,
      reason: 'the run has ended',
    });
    expect(ended).toMatchObject({ phase: 'ended', why: 'the run has ended' });
    expect(step(ended, acquired)).toBe(ended);
    expect(step(ended, { type: 'opened' })).toBe(ended);
  });

  it('of someone who may only watch is told by the list alone', () => {
    const listed = (holds: boolean) =>
      frame({
        type: 'watchers',
        watchers: [{ name: 'ann', mode: 'attached', holds, you: true, since: '2026-01-01T00:00:00.000Z' }],
        more: 0,
      });
    const watching = through({ type: 'opened' }, listed(false));
    expect(watching.phase).toBe('watching');
    expect(step(watching, acquired).phase).toBe('holder');
    expect(through({ type: 'opened' }, listed(true)).phase).toBe('connecting');
    const holder = through({ type: 'opened' }, acquired);
    expect(step(holder, listed(false))).toBe(holder);
  });

  it('is not redrawn by output', () => {
    const lease = through({ type: 'opened' }, acquired);
    expect(step(lease, data)).toBe(lease);
  });
});
