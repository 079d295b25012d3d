import type { RunFilter, Subject } from '@/live/patches';

/** keys names everything in the query cache; the event stream finds the records by them. */
export const keys = {
  projects: ['projects'] as const,
  workItems: (projectId: string) => ['work-items', projectId] as const,
  workItem: (id: string) => ['work-item', id] as const,
  runs: (filter: RunFilter) => ['runs', filter] as const,
  run: (id: string) => ['run', id] as const,
  hosts: ['hosts'] as const,
  providers: ['providers'] as const,
  inbox: (snoozed: boolean) => ['inbox', snoozed] as const,
  events: (topics: string[]) => ['events', topics] as const,
  runEvents: (id: string) => ['events', 'run', id] as const,
  history: (subject: Subject, id: string) => ['history', subject, id] as const,
  purgedBefore: ['purged_before'] as const,
};
