import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DetachKeys } from './detach';

const prefix = '\x1c';

describe('DetachKeys', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const make = () => {
    const sent: string[] = [];
    const detach = vi.fn();
    return { sent, detach, keys: new DetachKeys((data) => sent.push(data), detach) };
  };

  it('detaches on Ctrl-\\ then d and sends neither', () => {
    const { sent, detach, keys } = make();
    keys.type(prefix);
    keys.type('d');
    vi.advanceTimersByTime(1000);
    expect(detach).toHaveBeenCalledOnce();
    expect(sent).toEqual([]);
  });

  it('sends the prefix when nothing follows', () => {
    const { sent, keys } = make();
    keys.type(prefix);
    expect(sent).toEqual([]);
    vi.advanceTimersByTime(500);
    expect(sent).toEqual([prefix]);
    keys.type('d');
    expect(sent).toEqual([prefix, 'd']);
  });

  it('sends prefix and key when another key follows, in order', () => {
    const { sent, detach, keys } = make();
    keys.type(prefix);
    keys.type('x');
    expect(sent).toEqual([prefix, 'x']);
    expect(detach).not.toHaveBeenCalled();
  });

  it('takes the second of two prefixes as the beginning of a new try', () => {
    const { sent, detach, keys } = make();
    keys.type(prefix);
    keys.type(prefix);
    keys.type('d');
    expect(sent).toEqual([prefix]);
    expect(detach).toHaveBeenCalledOnce();
  });

  it('sends every other key at once', () => {
    const { sent, keys } = make();
    for (const key of ['d', '\x03', '\x1b', 'dd']) keys.type(key);
    expect(sent).toEqual(['d', '\x03', '\x1b', 'dd']);
  });
});
