import type { Run } from '@/api/records';

/** tilesOf is the runs that a wall shows: those that need someone first, then the newest; of a selection only its own. */
export function tilesOf(runs: readonly Run[], selected?: readonly string[]): Run[] {
  const wanted = selected && new Set(selected);
  return runs
    .filter((run) => run.status === 'running' && (!wanted || wanted.has(run.id)))
    .sort((a, b) => Number(b.needs_input) - Number(a.needs_input) || (a.created_at < b.created_at ? 1 : -1));
}
