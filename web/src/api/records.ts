// The API's records under the names that the page uses, and the possible values of their fields.
import type { CreateRun, Host, Me, Provider, RunSummary, WorkItem } from './schema.gen';

export type { Event, Host, Project, Provider, Snapshot, WorkItem } from './schema.gen';

/** Run is a run from a list, which has the beginning of its prompt, or a whole record, which lacks that excerpt. */
export type Run = Omit<RunSummary, 'prompt_excerpt'> & { prompt_excerpt?: string };

/** Kind is the level of a work item. */
export type Kind = WorkItem['kind'];
/** ItemStatus is the status of a work item, which is also its column on the board. */
export type ItemStatus = WorkItem['status'];
/** RunStatus is the status of a run. */
export type RunStatus = Run['status'];
/** HostStatus is the status that the orchestrator derived for a host. */
export type HostStatus = Host['status'];
/** Role is what an access token permits. Each role includes the roles before it. */
export type Role = Me['role'];
/** RestartPolicy defines when a run that ended starts again. */
export type RestartPolicy = NonNullable<CreateRun['restart_policy']>;
/** Confidence is how sure the person was who marked an item done. */
export type Confidence = NonNullable<WorkItem['confidence']>;

/** kinds lists the levels of work items from the widest to the narrowest. */
export const kinds: readonly Kind[] = ['milestone', 'epic', 'task', 'subtask'];
/** itemStatuses lists the statuses of work items in the order of the board's columns. */
export const itemStatuses: readonly ItemStatus[] = ['todo', 'doing', 'done', 'cancelled'];
/** activeStatuses are the statuses of runs that have not ended. */
export const activeStatuses: readonly RunStatus[] = ['pending', 'spawning', 'running'];
/** endedStatuses are the statuses of runs that have ended. */
export const endedStatuses: readonly RunStatus[] = ['exited', 'failed', 'stopped'];

/** isActive reports whether a run has not ended. */
export const isActive = (run: Run): boolean => activeStatuses.includes(run.status);
/** heldUntil is the not_before of a run that a person holds. It lies so far in the future that the run never starts. */
export const heldUntil = '9999-01-01T00:00:00.000Z';
/** isHeld reports whether a run waits until a person releases it. */
export const isHeld = (run: Run): boolean => run.status === 'pending' && (run.not_before ?? '') >= heldUntil;
/** isRunnable reports whether a run can have this item as its task. */
export const isRunnable = (item: WorkItem): boolean => item.kind === 'task' || item.kind === 'subtask';
/**
 * itemRef returns the short name of an item, as the command line takes it: CHECKOUT-12. It is empty while the page has
 * only the event of the item's creation and not yet its record.
 */
export const itemRef = (item: { project_slug: string; number: number }): string =>
  item.project_slug && item.number ? `${item.project_slug.toUpperCase()}-${item.number}` : '';
/** taskRef returns the short name of a run's task. */
export const taskRef = (run: { project_slug: string; task_number: number }): string =>
  itemRef({ project_slug: run.project_slug, number: run.task_number });
/** isStopping reports whether a run was stopped while its session may still be alive. */
export const isStopping = (run: Run): boolean =>
  run.status === 'stopped' && run.started_at !== null && run.session_ended_at === null;

/** availability counts the hosts that reported on a provider (known), and those of them that have it (available). */
export function availability(provider: Provider): { available: number; known: number } {
  const reports = Object.values(provider.hosts);
  return { available: reports.filter((report) => report.available).length, known: reports.length };
}
