// How an event changes the records in the cache. All are pure functions. A list that an event does not change is
// returned as the same object, so that nothing is rendered again.
import type { Event, Host, Project, Run, Snapshot, WorkItem } from '@/api/records';
import { isActive } from '@/api/records';
import type { JournalEvent } from './protocol';

/** RunFilter is the filter of a cached list of runs, with the server's names. Empty: all runs. */
export interface RunFilter {
  project_id?: string;
  task_id?: string;
  host_id?: string;
  provider?: string;
  status?: Run['status'][];
  needs_input?: 'true';
}

/** byPosition orders work items as the server does. */
export const byPosition = (a: WorkItem, b: WorkItem): number =>
  a.position < b.position ? -1 : a.position > b.position ? 1 : 0;

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** patchWorkItems applies an event to the items of one project. */
export function patchWorkItems(items: WorkItem[], projectId: string, event: JournalEvent): WorkItem[] {
  const { topic, payload } = event;
  if (topic === 'snapshot') {
    return (payload as unknown as Snapshot).work_items
      .filter((item) => item.project_id === projectId)
      .sort(byPosition);
  }
  if (!topic.startsWith('work_item.') || payload.project_id !== projectId) return items;
  const id = payload.task_id as string;
  if (topic === 'work_item.deleted') {
    return items.some((item) => item.id === id) ? items.filter((item) => item.id !== id) : items;
  }
  const known = items.find((item) => item.id === id);
  if (!known && topic !== 'work_item.created') return items;
  const next = { ...(known ?? newItem(id)), ...fieldsOf(payload) };
  next.project_slug ||= items.find((item) => item.project_id === next.project_id)?.project_slug ?? '';
  const moved = known && known.path !== next.path ? `${known.path}/` : null;
  const follow = (item: WorkItem): WorkItem =>
    moved && item.path.startsWith(moved)
      ? { ...item, path: `${next.path}/${item.path.slice(moved.length)}` }
      : item;
  if (known && known.position === next.position)
    return items.map((item) => (item === known ? next : follow(item)));
  return insertByPosition(items.filter((item) => item !== known).map(follow), next);
}

/** patchWorkItem applies an event to one item. Null: the item was deleted. */
export function patchWorkItem(item: WorkItem, event: JournalEvent): WorkItem | null {
  if (event.topic === 'snapshot') {
    return (event.payload as unknown as Snapshot).work_items.find((other) => other.id === item.id) ?? item;
  }
  if (!event.topic.startsWith('work_item.') || event.payload.task_id !== item.id) return item;
  return event.topic === 'work_item.deleted' ? null : { ...item, ...fieldsOf(event.payload) };
}

/** insertByPosition inserts an item into a sorted list according to its position. */
export function insertByPosition(items: WorkItem[], item: WorkItem): WorkItem[] {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (byPosition(items[middle] as WorkItem, item) < 0) low = middle + 1;
    else high = middle;
  }
  return [...items.slice(0, low), item, ...items.slice(low)];
}

const itemFields = [
  'project_id',
  'number',
  'parent_id',
  'kind',
  'title',
  'status',
  'status_source',
  'confidence',
  'path',
  'position',
] as const;

function fieldsOf(payload: Record<string, unknown>): Partial<WorkItem> {
  return Object.fromEntries(
    itemFields.filter((name) => name in payload).map((name) => [name, payload[name]]),
  );
}

/** newItem returns a placeholder for an item of which only an event has arrived. The record is read soon after. */
function newItem(id: string): WorkItem {
  return {
    id,
    project_id: '',
    project_slug: '',
    number: 0,
    parent_id: null,
    kind: 'task',
    title: '',
    description: '',
    status: 'todo',
    status_source: 'manual',
    confidence: null,
    path: id,
    position: '',
    auto_mark_done: false,
    needs: [],
    blocked: false,
    newest_run: null,
    created_at: '',
    updated_at: '',
  };
}

/** patchRun applies an event to one run. Events of older attempts change nothing. */
export function patchRun(run: Run, event: JournalEvent): Run {
  const { topic, payload } = event;
  if (topic === 'snapshot')
    return (payload as unknown as Snapshot).runs.find((other) => other.id === run.id) ?? run;
  if (topic === 'work_item.updated' && payload.task_id === run.task_id)
    return { ...run, task_title: text(payload.title) ?? run.task_title };
  if (!topic.startsWith('run.') || payload.run_id !== run.id) return run;
  const attempt = Number(payload.attempt);
  if (topic.startsWith('run.lease_') && attempt === run.attempt && 'lease' in run) {
    const lease =
      topic === 'run.lease_acquired'
        ? { attached_at: text(payload.timestamp) ?? '', holder: text(payload.holder) ?? '' }
        : null;
    return { ...run, lease } as Run;
  }
  if (attempt < run.attempt || topic.startsWith('run.lease_')) return run;
  if (topic === 'run.orphan_detected' || topic === 'run.message') return run;
  const next: Run = { ...run, attempt };
  if (topic === 'run.output_appended') {
    return { ...next, last_output_at: text(payload.timestamp) ?? run.last_output_at };
  }
  next.status = (text(payload.status) as Run['status'] | undefined) ?? run.status;
  next.host_id = text(payload.host_id) ?? (next.status === 'pending' ? null : run.host_id);
  if (attempt > run.attempt) {
    Object.assign(next, {
      exit_code: null,
      error: null,
      failure_reason: null,
      result: null,
      result_reason: null,
      needs_input: false,
      progress_message: null,
      progress_percent: null,
      started_at: null,
      ended_at: null,
      session_ended_at: null,
    } satisfies Partial<Run>);
  }
  if (payload.kind === 'progress') {
    next.progress_message = text(payload.message) ?? null;
    next.progress_percent = typeof payload.percent === 'number' ? payload.percent : null;
  }
  if (payload.conversation) next.conversation = payload.conversation as Run['conversation'];
  if (payload.kind === 'completed') next.result = (payload.result as Run['result']) ?? null;
  if (typeof payload.needs_input === 'boolean') next.needs_input = payload.needs_input;
  if (typeof payload.exit_code === 'number') next.exit_code = payload.exit_code;
  if (typeof payload.error === 'string') next.error = payload.error;
  if (typeof payload.failure_reason === 'string')
    next.failure_reason = payload.failure_reason as Run['failure_reason'];
  if ('next_dispatch_at' in payload) next.next_dispatch_at = text(payload.next_dispatch_at) ?? null;
  if (!isActive(next)) next.needs_input = false;
  return next;
}

/** patchRuns applies an event to a list of runs, newest first. */
export function patchRuns(runs: Run[], filter: RunFilter, event: JournalEvent): Run[] {
  if (event.topic === 'snapshot') {
    const { runs: all } = event.payload as unknown as Snapshot;
    return all.filter((run) => fits(run, filter)).sort((a, b) => (a.created_at < b.created_at ? 1 : -1));
  }
  if (event.topic === 'work_item.updated' && runs.some((run) => run.task_id === event.payload.task_id))
    return runs.map((run) => patchRun(run, event));
  if (!event.topic.startsWith('run.')) return runs;
  const index = runs.findIndex((run) => run.id === event.payload.run_id);
  if (index >= 0) {
    const before = runs[index] as Run;
    const after = patchRun(before, event);
    if (!fits(after, filter)) return runs.toSpliced(index, 1);
    return after === before ? runs : runs.with(index, after);
  }
  if (event.topic !== 'run.created') return runs;
  const run = newRun(event.payload);
  return fits(run, filter) ? [run, ...runs] : runs;
}

/**
 * withRun returns a list of runs with the server's version of one run. An active run is added to a list that it now
 * fits, such as its host's. Any run is removed from a list that it no longer fits.
 */
export function withRun(runs: Run[], filter: RunFilter, run: Run): Run[] {
  const index = runs.findIndex((other) => other.id === run.id);
  if (!fits(run, filter)) return index >= 0 ? runs.toSpliced(index, 1) : runs;
  if (index >= 0) return runs.with(index, run);
  if (!isActive(run)) return runs;
  const older = runs.findIndex((other) => other.created_at < run.created_at);
  return runs.toSpliced(older >= 0 ? older : runs.length, 0, run);
}

function fits(run: Run, filter: RunFilter): boolean {
  return (
    (!filter.project_id || run.project_id === filter.project_id) &&
    (!filter.task_id || run.task_id === filter.task_id) &&
    (!filter.host_id || run.host_id === filter.host_id) &&
    (!filter.provider || run.provider === filter.provider) &&
    (!filter.status || filter.status.includes(run.status)) &&
    (!filter.needs_input || run.needs_input)
  );
}

/** RunPages is a list of ended runs in the cache's form: pages, newest run first. */
export interface RunPages {
  pages: { items: Run[]; next_cursor: string | null }[];
  pageParams: unknown[];
}

/** patchRunPages applies an event to the loaded runs of a list of ended runs. withEndedRun adds runs that end. */
export function patchRunPages(list: RunPages, filter: RunFilter, event: JournalEvent): RunPages {
  if (event.topic === 'snapshot') return list;
  let changed = false;
  const pages = list.pages.map((page) => {
    const items = event.topic === 'run.created' ? page.items : patchRuns(page.items, filter, event);
    if (items === page.items) return page;
    changed = true;
    return { ...page, items };
  });
  return changed ? { ...list, pages } : list;
}

/**
 * withEndedRun returns a list of ended runs with the server's version of one run. The run is left out if its position
 * is after the loaded pages.
 */
export function withEndedRun(list: RunPages, filter: RunFilter, run: Run): RunPages {
  const put = (index: number, items: Run[]): RunPages => ({
    ...list,
    pages: list.pages.with(index, { ...(list.pages[index] as RunPages['pages'][number]), items }),
  });
  const held = list.pages.findIndex((page) => page.items.some((other) => other.id === run.id));
  if (held >= 0) {
    const items = (list.pages[held] as RunPages['pages'][number]).items;
    const index = items.findIndex((other) => other.id === run.id);
    return put(held, fits(run, filter) ? items.with(index, run) : items.toSpliced(index, 1));
  }
  if (!fits(run, filter)) return list;
  for (const [index, page] of list.pages.entries()) {
    const older = page.items.findIndex((other) => other.created_at < run.created_at);
    if (older >= 0) return put(index, page.items.toSpliced(older, 0, run));
    if (page.next_cursor === null) return put(index, [...page.items, run]);
  }
  return list;
}

/** newRun returns a placeholder for a run of which only the creation event has arrived. The record is read soon after. */
function newRun(payload: Record<string, unknown>): Run {
  const now = new Date().toISOString();
  return {
    id: String(payload.run_id),
    task_id: String(payload.task_id),
    task_title: text(payload.task_title) ?? '',
    task_number: Number(payload.task_number),
    project_id: String(payload.project_id),
    project_slug: text(payload.project_slug) ?? '',
    provider: String(payload.provider),
    session_name: String(payload.session_name),
    status: 'pending',
    attempt: Number(payload.attempt),
    host_id: null,
    pinned_host_id: text(payload.pinned_host_id) ?? null,
    model: '',
    cwd: '',
    restart_policy: 'never',
    max_restarts: 0,
    wait: payload.wait === true,
    priority: Number(payload.priority ?? 0),
    not_before: null,
    host_labels: {},
    ignore_needs: payload.ignore_needs === true,
    failure_reason: null,
    hint: null,
    exit_code: null,
    error: null,
    result: null,
    result_reason: null,
    last_progress_seq: 0,
    progress_message: null,
    progress_percent: null,
    needs_input: false,
    last_output_at: null,
    pending_since: now,
    next_dispatch_at: null,
    started_at: null,
    ended_at: null,
    session_ended_at: null,
    workspace_id: text(payload.workspace_id) ?? null,
    continues_run_id: text(payload.continues_run_id) ?? null,
    conversation: null,
    created_by: text(payload.by) ?? null,
    created_at: now,
    updated_at: now,
  };
}

/** patchHosts applies an event to the list of hosts. It does not add a new host: the list is read again for that. */
export function patchHosts(hosts: Host[], event: JournalEvent): Host[] {
  const { topic, payload } = event;
  if (topic === 'snapshot') return (payload as unknown as Snapshot).hosts;
  if (!topic.startsWith('worker.') && !topic.startsWith('host.')) return hosts;
  const index = hosts.findIndex((host) => host.id === payload.host_id);
  const host = hosts[index];
  if (!host) return hosts;
  if (topic === 'host.deleted') return hosts.toSpliced(index, 1);
  const status = (text(payload.status) as Host['status'] | undefined) ?? host.status;
  const suspect = host.instance_suspect || topic === 'worker.instance_suspect';
  const link: Partial<Host> =
    topic === 'worker.connected'
      ? { connected: true, disconnected_since: null }
      : topic === 'worker.disconnected'
        ? { connected: false, disconnected_since: text(payload.disconnected_since) ?? null }
        : {};
  return hosts.with(index, {
    ...host,
    name: text(payload.name) ?? host.name,
    status,
    instance_suspect: suspect,
    ...link,
  });
}

/** patchProjects applies an event to the list of projects that are not archived. */
export function patchProjects(projects: Project[], event: JournalEvent): Project[] {
  const { topic, payload } = event;
  if (topic === 'snapshot') return (payload as unknown as Snapshot).projects;
  if (!topic.startsWith('project.')) return projects;
  const index = projects.findIndex((project) => project.id === payload.project_id);
  const project = projects[index];
  if (!project) return projects;
  if (topic === 'project.archived') return projects.toSpliced(index, 1);
  const { name, slug } = payload as { name: string; slug: string };
  return projects.with(index, { ...project, name, slug });
}

/** ChangeSizes is the number of changed files and lines of each working copy, by the working copy's id. */
export type ChangeSizes = Record<string, { files: number; additions: number; deletions: number }>;

/** patchChangeSizes applies an event to the change sizes of one project. */
export function patchChangeSizes(sizes: ChangeSizes, projectId: string, event: JournalEvent): ChangeSizes {
  const { topic, payload } = event;
  if (topic !== 'workspace.checkpointed' || payload.project_id !== projectId) return sizes;
  const { workspace_id: id, files, additions, deletions } = payload as Record<string, unknown>;
  const known = sizes[id as string];
  const next = { files: Number(files), additions: Number(additions), deletions: Number(deletions) };
  if (
    known &&
    known.additions === next.additions &&
    known.deletions === next.deletions &&
    known.files === next.files
  )
    return sizes;
  return { ...sizes, [id as string]: next };
}

/** runTopics are the topics of run events that a timeline shows: all but the growth of the output. */
export const runTopics: readonly string[] = [
  'run.created',
  'run.updated',
  'run.spawning',
  'run.started',
  'run.finished',
  'run.failed',
  'run.stopped',
  'run.requeued',
  'run.signal_received',
  'run.lease_acquired',
  'run.lease_released',
  'run.orphan_detected',
  'run.message',
];

/** patchRunEvents adds an event to the events of one run, newest first. */
export function patchRunEvents(events: Event[], runId: string, event: JournalEvent): Event[] {
  if (event.payload.run_id !== runId || !runTopics.includes(event.topic)) return events;
  return withEvent(events, event);
}

/** JournalPages is a list of journal events in the cache's form: pages, newest event first. */
export interface JournalPages {
  pages: { items: Event[]; next_cursor: string | null }[];
  pageParams: unknown[];
}

/** patchJournal adds an event to the loaded pages of the journal, if the event passes the list's filter. */
export function patchJournal(
  journal: JournalPages,
  topics: readonly string[],
  event: JournalEvent,
  projectId?: string,
): JournalPages {
  const [first, ...rest] = journal.pages;
  if (!first || event.topic === 'snapshot' || !passes(event.topic, topics)) return journal;
  if (projectId !== undefined && event.payload.project_id !== projectId) return journal;
  // An event older than the first page belongs to a later page, which may not be loaded.
  if (first.next_cursor !== null && event.seq < (first.items.at(-1)?.seq ?? 0)) return journal;
  const items = withEvent(first.items, event);
  return items === first.items ? journal : { ...journal, pages: [{ ...first, items }, ...rest] };
}

/** Subject is the kind of record that a history is about, with the name of the journal's filter. */
export type Subject = 'task_id' | 'host_id';

/** historyTopics are the topics in a history: events of its subject, and events of the subject's runs. */
export const historyTopics: Record<Subject, readonly string[]> = {
  task_id: ['work_item.*', ...runTopics],
  host_id: ['host.*', 'worker.*', ...runTopics],
};

/** patchHistory adds an event to a history if the event's payload names the history's subject. */
export function patchHistory(
  history: JournalPages,
  subject: Subject,
  id: string,
  event: JournalEvent,
): JournalPages {
  return event.payload[subject] === id ? patchJournal(history, historyTopics[subject], event) : history;
}

/** passes reports whether a topic matches one of these globs. With no globs, every topic passes. */
export function passes(topic: string, globs: readonly string[]): boolean {
  if (globs.length === 0) return true;
  return globs.some((glob) => {
    const parts = glob.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
    return new RegExp(`^${parts.join('.*')}$`).test(topic);
  });
}

/** withEvent inserts an event by its seq. The stream carries no event times, so created_at is the time of arrival. */
function withEvent(events: Event[], { seq, topic, payload }: JournalEvent): Event[] {
  if (events.some((other) => other.seq === seq)) return events;
  const at = events.findIndex((other) => other.seq < seq);
  return events.toSpliced(at < 0 ? events.length : at, 0, {
    seq,
    topic: topic as Event['topic'],
    payload,
    created_at: new Date().toISOString(),
  });
}
