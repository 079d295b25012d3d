import { isActive, type Run } from '@/api/records';

/** RunsFilter is what a person wants to see; absent: everything. */
export interface RunsFilter {
  status?: string;
  provider?: string;
}

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

/** fits says whether a filter lets a run through. */
export function fits(run: Run, { status, provider }: RunsFilter): boolean {
  if (provider && run.provider !== provider) return false;
  if (!status) return true;
  if (status === 'needs-you') return run.needs_input;
  if (status === 'active') return isActive(run);
  return run.status === status;
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
