import { expect, it } from 'vitest';
import { run } from '@/live/fixtures';
import { priorityAt } from './priorityAt';

const at = (pending_since: string, priority: number) => run('r', { pending_since, priority });

it('is that of the other one where the time decides between them, else one above or below', () => {
  expect(priorityAt(at('2', 0), at('1', 0), 'before')).toBe(1);
  expect(priorityAt(at('1', -1), at('2', 0), 'before')).toBe(0);
  expect(priorityAt(at('1', 0), at('2', 0), 'after')).toBe(-1);
  expect(priorityAt(at('2', 1), at('1', 0), 'after')).toBe(0);
});

it('changes nothing where the run stands there already, or no priority brings it there', () => {
  expect(priorityAt(at('1', 0), at('2', 0), 'before')).toBeNull();
  expect(priorityAt(at('2', 2), at('1', 2), 'before')).toBeNull();
  expect(priorityAt(at('1', -2), at('2', -2), 'after')).toBeNull();
});
