import type { Run } from '@/api/records';

/**
 * tilesOf returns the running runs, those that wait for a person first, then the newest; with a selection, only those.
 */
export function tilesOf(runs: readonly Run[], selected?: readonly string[]): Run[] {
  const wanted = selected && new Set(selected);
  return runs
    .filter((run) => run.status === 'running' && (!wanted || wanted.has(run.id)))
    .sort((a, b) => Number(b.needs_input) - Number(a.needs_input) || (a.created_at < b.created_at ? 1 : -1));
}
