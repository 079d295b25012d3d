import { activeStatuses, endedStatuses, isActive, type Run, type RunStatus } from '@/api/records';

/** statuses are the choices of the status filter. */
export const statuses = [
  { value: 'needs-you', label: 'Needs you' },
  { value: 'active', label: 'Active' },
  { value: 'pending', label: 'Queued' },
  { value: 'running', label: 'Running' },
  { value: 'exited', label: 'Finished' },
  { value: 'failed', label: 'Failed' },
  { value: 'stopped', label: 'Stopped' },
];

/** Wanted is what the server is asked for: which of the runs that have not ended, and which of those that have. */
export interface Wanted {
  active: RunStatus[];
  ended: RunStatus[];
  needs_input?: 'true';
}

/** wantedOf is what a choice of the status filter asks for; absent: everything. */
export function wantedOf(status: string | undefined): Wanted {
  if (status === 'needs-you') return { active: [...activeStatuses], ended: [], needs_input: 'true' };
  if (status === 'active') return { active: [...activeStatuses], ended: [] };
  const one = (list: readonly RunStatus[]): RunStatus[] => list.filter((each) => !status || each === status);
  return { active: one(activeStatuses), ended: one(endedStatuses) };
}

/** Group is runs under one heading. */
export interface Group {
  title: string;
  runs: Run[];
}

/** arrange groups runs: those that need someone, those at work, those that ended; each newest first. */
export function arrange(runs: readonly Run[]): Group[] {
  const groups: Group[] = [
    { title: 'Needs you', runs: runs.filter((run) => isActive(run) && run.needs_input) },
    { title: 'Active', runs: runs.filter((run) => isActive(run) && !run.needs_input) },
    { title: 'Ended', runs: runs.filter((run) => !isActive(run)).sort(byEnd) },
  ];
  return groups.filter((group) => group.runs.length > 0);
}

const byEnd = (a: Run, b: Run): number =>
  (a.ended_at ?? a.created_at) < (b.ended_at ?? b.created_at) ? 1 : -1;
