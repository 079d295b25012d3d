import type { Run } from '@/api/records';

/** The lowest and the highest priority of a run. */
export const lowest = -2;
export const highest = 2;

/**
 * priorityAt returns the priority that moves a waiting run directly before or after another one, as near as priorities
 * allow: of equal priorities, the run that has waited longer comes first. Null: the run already has this priority, or
 * the priority that it would need is out of range.
 */
export function priorityAt(run: Run, other: Run, edge: 'before' | 'after'): number | null {
  const older = run.pending_since < other.pending_since;
  let wanted = other.priority;
  if (edge === 'before' && !older) wanted += 1;
  if (edge === 'after' && older) wanted -= 1;
  const priority = Math.max(lowest, Math.min(highest, wanted));
  return priority === run.priority ? null : priority;
}
