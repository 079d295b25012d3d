import type { RunFilter, Subject } from '@/live/patches';

/** keys names everything in the query cache; the event stream finds the records by them. */
export const keys = {
  me: ['me'] as const,
  tokens: ['tokens'] as const,
  sinks: ['sinks'] as const,
  projects: ['projects'] as const,
  workItems: (projectId: string) => ['work-items', projectId] as const,
  workItem: (id: string) => ['work-item', id] as const,
  runs: (filter: RunFilter) => ['runs', filter] as const,
  endedRuns: (filter: RunFilter) => ['ended-runs', filter] as const,
  runCounts: (filter: RunFilter) => ['run-counts', filter] as const,
  queue: (projectId?: string) => ['queue', projectId] as const,
  waiting: (id: string) => ['queue', 'waiting', id] as const,
  run: (id: string) => ['run', id] as const,
  hosts: ['hosts'] as const,
  providers: ['providers'] as const,
  inbox: (snoozed: boolean) => ['inbox', snoozed] as const,
  events: (topics: string[], projectId?: string) => ['events', topics, projectId] as const,
  runEvents: (id: string) => ['events', 'run', id] as const,
  history: (subject: Subject, id: string) => ['history', subject, id] as const,
  workspace: (id: string) => ['workspace', id] as const,
  changes: (id: string, version: object) => ['changes', id, version] as const,
  diff: (id: string, version: object, path: string) => ['diff', id, version, path] as const,
  comments: (id: string) => ['comments', id] as const,
  sendPreview: (id: string, message: string) => ['send-preview', id, message] as const,
  purgedBefore: ['purged_before'] as const,
};
