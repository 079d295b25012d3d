import { activeStatuses, endedStatuses, isActive, type Run, type RunStatus, taskRef } from '@/api/records';
import { isCrashLoop } from '@/components/runState';

/** statuses are the options of the status filter. */
export const statuses = [
  { value: 'needs-you', label: 'Needs you' },
  { value: 'active', label: 'Active' },
  { value: 'pending', label: 'Queued' },
  { value: 'running', label: 'Running' },
  { value: 'exited', label: 'Finished' },
  { value: 'failed', label: 'Failed' },
  { value: 'stopped', label: 'Stopped' },
];

/** Wanted has the statuses for the requests to the server: one for active runs, one for ended runs. */
export interface Wanted {
  active: RunStatus[];
  ended: RunStatus[];
  needs_input?: 'true';
}

/** wantedOf returns the requests for an option of the status filter. Absent: all runs. */
export function wantedOf(status: string | undefined): Wanted {
  if (status === 'needs-you') return { active: [...activeStatuses], ended: [], needs_input: 'true' };
  if (status === 'active') return { active: [...activeStatuses], ended: [] };
  const one = (list: readonly RunStatus[]): RunStatus[] => list.filter((each) => !status || each === status);
  return { active: one(activeStatuses), ended: one(endedStatuses) };
}

/** Group is a list of runs under one heading. */
export interface Group {
  title: string;
  runs: Run[];
}

/** orders are the orders for active runs. Ended runs are always newest first. */
export const orders: { value: string; label: string; compare?(a: Run, b: Run): number }[] = [
  { value: 'newest', label: 'Newest first' },
  { value: 'oldest', label: 'Oldest first', compare: (a, b) => (a.created_at < b.created_at ? -1 : 1) },
  { value: 'quiet', label: 'Quietest first', compare: (a, b) => (lastWord(a) < lastWord(b) ? -1 : 1) },
  {
    value: 'task',
    label: 'By task',
    compare: (a, b) =>
      a.project_slug.localeCompare(b.project_slug) ||
      a.task_number - b.task_number ||
      (a.created_at < b.created_at ? 1 : -1),
  },
];

const lastWord = (run: Run): string => run.last_output_at ?? run.started_at ?? run.pending_since;

/**
 * arrange groups runs: those that wait for a person, crash loops, running ones, pending ones, each in the wanted order;
 * then the ended ones.
 */
export function arrange(runs: readonly Run[], order?: string, now = Date.now()): Group[] {
  const compare = orders.find((each) => each.value === order)?.compare;
  const active = runs.filter(isActive);
  if (compare) active.sort(compare);
  const titleOf = (run: Run): string => {
    if (run.needs_input) return 'Needs you';
    if (isCrashLoop(run, now)) return 'Crash loops';
    return run.status === 'pending' ? 'Queued' : 'Active';
  };
  const groups: Group[] = [
    ...['Needs you', 'Crash loops', 'Active', 'Queued'].map((title) => ({
      title,
      runs: active.filter((run) => titleOf(run) === title),
    })),
    { title: 'Ended', runs: runs.filter((run) => !isActive(run)).sort(byEnd) },
  ];
  return groups.filter((group) => group.runs.length > 0);
}

/** found returns the runs that contain every word of a search: in the task's name or number, id, provider or prompt. */
export function found(runs: readonly Run[], search: string): readonly Run[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return runs;
  return runs.filter((run) => {
    const text = [taskRef(run), run.task_title, run.id, run.session_name, run.provider, run.prompt_excerpt]
      .join('\n')
      .toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

const byEnd = (a: Run, b: Run): number =>
  (a.ended_at ?? a.created_at) < (b.ended_at ?? b.created_at) ? 1 : -1;
