import type { Run } from '@/api/records';

/** The lowest and the highest priority of a run. */
export const lowest = -2;
export const highest = 2;

/**
 * priorityAt is the priority that brings a waiting run directly before or after another one, as near as priorities can:
 * of equal ones, who waits longer goes first. Null: it has that priority, or there is none that does it.
 */
export function priorityAt(run: Run, other: Run, edge: 'before' | 'after'): number | null {
  const older = run.pending_since < other.pending_since;
  let wanted = other.priority;
  if (edge === 'before' && !older) wanted += 1;
  if (edge === 'after' && older) wanted -= 1;
  const priority = Math.max(lowest, Math.min(highest, wanted));
  return priority === run.priority ? null : priority;
}
