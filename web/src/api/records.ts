// The records under the names that the page uses, and the values of their fields.
import type { CreateRun, Host, Me, Provider, RunSummary, WorkItem } from './schema.gen';

export type { Event, Host, Project, Provider, Snapshot, WorkItem } from './schema.gen';

/** Run is a run as lists have it, and as a whole record is too: with the beginning of its prompt, or without. */
export type Run = Omit<RunSummary, 'prompt_excerpt'> & { prompt_excerpt?: string };

/** Kind is the level of a work item. */
export type Kind = WorkItem['kind'];
/** ItemStatus is the column a work item stands in. */
export type ItemStatus = WorkItem['status'];
/** RunStatus is where a run is in its life. */
export type RunStatus = Run['status'];
/** HostStatus is what the orchestrator derived for a host. */
export type HostStatus = Host['status'];
/** Role is what the holder of an access token may do; each includes those before it. */
export type Role = Me['role'];
/** RestartPolicy says when a run that ended begins again. */
export type RestartPolicy = NonNullable<CreateRun['restart_policy']>;
/** Confidence is how sure a person is who marks an item done. */
export type Confidence = NonNullable<WorkItem['confidence']>;

/** kinds from the widest to the narrowest. */
export const kinds: readonly Kind[] = ['milestone', 'epic', 'task', 'subtask'];
/** itemStatuses in the order of the board. */
export const itemStatuses: readonly ItemStatus[] = ['todo', 'doing', 'done', 'cancelled'];
/** activeStatuses are those of runs that have not ended. */
export const activeStatuses: readonly RunStatus[] = ['pending', 'spawning', 'running'];
/** endedStatuses are those of runs that have ended. */
export const endedStatuses: readonly RunStatus[] = ['exited', 'failed', 'stopped'];

/** isActive says whether a run has not ended. */
export const isActive = (run: Run): boolean => activeStatuses.includes(run.status);
/** heldUntil is the time before which a run that someone holds does not start: it does not come. */
export const heldUntil = '9999-01-01T00:00:00.000Z';
/** isHeld says whether a run waits until someone releases it. */
export const isHeld = (run: Run): boolean => run.status === 'pending' && (run.not_before ?? '') >= heldUntil;
/** isRunnable says whether runs can target an item. */
export const isRunnable = (item: WorkItem): boolean => item.kind === 'task' || item.kind === 'subtask';
/**
 * itemRef is the short name of an item, as the command line takes it: CHECKOUT-12. It is empty while only the item's
 * creation is known.
 */
export const itemRef = (item: { project_slug: string; number: number }): string =>
  item.project_slug && item.number ? `${item.project_slug.toUpperCase()}-${item.number}` : '';
/** taskRef is the short name of a run's task. */
export const taskRef = (run: { project_slug: string; task_number: number }): string =>
  itemRef({ project_slug: run.project_slug, number: run.task_number });
/** isStopping says whether a run was stopped while its session may still be alive. */
export const isStopping = (run: Run): boolean =>
  run.status === 'stopped' && run.started_at !== null && run.session_ended_at === null;

/** availability of a provider over all hosts: how many have it, of how many that said something. */
export function availability(provider: Provider): { available: number; known: number } {
  const reports = Object.values(provider.hosts);
  return { available: reports.filter((report) => report.available).length, known: reports.length };
}
