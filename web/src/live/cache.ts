import type { QueryClient, QueryFilters } from '@tanstack/react-query';
import { call } from '@/api/client';
import { isCode } from '@/api/error';
import type { Event, Host, Project, Run, WorkItem } from '@/api/records';
import { keys } from '@/data/keys';
import {
  type ChangeSizes,
  type JournalPages,
  patchChangeSizes,
  patchHistory,
  patchHosts,
  patchJournal,
  patchProjects,
  patchRun,
  patchRunEvents,
  patchRunPages,
  patchRuns,
  patchWorkItem,
  patchWorkItems,
  type RunFilter,
  type RunPages,
  type Subject,
  withEndedRun,
  withRun,
} from './patches';
import type { JournalEvent } from './protocol';
import { changeAll, keepRecent } from './recent';
import { stale } from './stale';

/** How long, in ms, ids are gathered before the records are read that events describe only in part. */
const gather = 250;
/** How long, in ms, events about output are gathered. They change only the time of the last output. */
const gatherOutput = 1000;
/** Above this many records the lists are read again, instead of each record by itself. */
const tooMany = 25;

/** CachePatcher applies the journal's events to the query cache. */
export class CachePatcher {
  private readonly items = new Set<string>();
  private readonly runs = new Set<string>();
  /** Ids of deleted items. An answer that was requested before the deletion must not restore them. */
  private readonly gone = new Set<string>();
  private inbox = false;
  private timer = 0;
  private output: JournalEvent[] = [];
  private outputTimer = 0;

  constructor(private readonly client: QueryClient) {
    keepRecent(client);
  }

  /** apply patches every cached record that the events concern. If all are about output, it waits gatherOutput first. */
  apply(events: JournalEvent[]): void {
    this.output.push(...events);
    if (events.some(({ topic }) => topic !== 'run.output_appended')) this.applyAll();
    else this.outputTimer ||= window.setTimeout(() => this.applyAll(), gatherOutput);
  }

  private applyAll(): void {
    window.clearTimeout(this.outputTimer);
    this.outputTimer = 0;
    const events = this.output;
    this.output = [];
    changeAll(this.client, (key, data) =>
      events.reduce((current, event) => patch(key, current, event), data),
    );
    for (const event of events) this.followUp(event);
  }

  /** refreshAll reads all cached data again. The page shows the old data until the new arrives. */
  refreshAll(): void {
    this.stale({
      predicate: (query) => query.state.fetchStatus === 'fetching' || query.state.dataUpdatedAt > 0,
    });
  }

  /** followUp marks as stale, or reads, whatever the event changed but its payload does not contain. */
  private followUp({ topic, payload }: JournalEvent): void {
    const domain = topic.split('.')[0];
    if (topic === 'snapshot') {
      this.stale({
        predicate: ({ queryKey }) =>
          [
            'providers',
            'events',
            'history',
            'run',
            'work-item',
            'inbox',
            'ended-runs',
            'run-counts',
            'queue',
            'messages',
            'workspace',
            'workspaces',
            'change-sizes',
            'comments',
            'tokens',
          ].includes(String(queryKey[0])),
      });
      return;
    }
    if (domain === 'token') this.stale({ queryKey: keys.tokens });
    if (domain === 'project') this.stale({ queryKey: keys.projects });
    if (domain === 'worker' || domain === 'host') {
      this.stale({ queryKey: keys.hosts });
      this.stale({ queryKey: keys.providers });
    }
    if (domain === 'workspace') {
      this.stale({ queryKey: keys.workspace(payload.workspace_id as string) });
      this.stale({ queryKey: keys.taskWorkspaces(payload.task_id as string) });
      // A newer checkpoint may have moved the lines that comments are on.
      if (topic === 'workspace.checkpointed')
        this.stale({ queryKey: keys.comments(payload.workspace_id as string) });
    }
    if (topic === 'run.message') this.stale({ queryKey: keys.messages(payload.run_id as string) });
    if (domain === 'comment') this.stale({ queryKey: keys.comments(payload.workspace_id as string) });
    if (topic === 'work_item.deleted') this.gone.add(payload.task_id as string);
    if (topic === 'work_item.created' || topic === 'work_item.updated')
      this.items.add(payload.task_id as string);
    if (changesBlocked(topic, payload)) {
      this.stale({ queryKey: keys.workItems(payload.project_id as string) });
      this.stale({ queryKey: ['work-item'] });
    }
    if (domain === 'run' && !isAside(topic)) {
      this.runs.add(payload.run_id as string);
    }
    if (changesInbox(topic)) this.inbox = true;
    if ((this.items.size > 0 || this.runs.size > 0 || this.inbox) && this.timer === 0) {
      this.timer = window.setTimeout(() => this.readGathered(), gather);
    }
  }

  private stale(filters: QueryFilters): void {
    void stale(this.client, filters);
  }

  private readGathered(): void {
    this.timer = 0;
    const items = [...this.items];
    const runs = [...this.runs];
    this.items.clear();
    this.runs.clear();
    if (this.inbox) this.stale({ queryKey: ['inbox'] });
    if (runs.length > 0) {
      this.stale({ queryKey: ['run-counts'] });
      this.stale({ queryKey: ['queue'] });
    }
    this.inbox = false;
    if (items.length > tooMany) {
      this.stale({ queryKey: ['work-items'] });
      this.stale({ queryKey: ['work-item'] });
    } else for (const id of items) void this.readItem(id);
    if (runs.length > tooMany) {
      for (const each of ['runs', 'ended-runs', 'run']) this.stale({ queryKey: [each] });
    } else for (const id of runs) void this.readRun(id);
  }

  private async readItem(id: string): Promise<void> {
    const item = await this.read(() => call('GET /work-items/{id}', { path: { id } }));
    if (item && !this.gone.has(id)) putWorkItem(this.client, item);
  }

  private async readRun(id: string): Promise<void> {
    const run = await this.read(() => call('GET /runs/{id}', { path: { id } }));
    if (run) putRun(this.client, run);
  }

  private async read<T>(ask: () => Promise<T>): Promise<T | null> {
    try {
      return await ask();
    } catch (error) {
      // Deleted meanwhile: its own event removes it. After any other error, read everything again.
      if (!isCode(error, 'not_found')) this.refreshAll();
      return null;
    }
  }
}

/** isAside reports whether an event of a run carries every change that it makes to the run's record. */
const isAside = (topic: string): boolean =>
  topic === 'run.output_appended' || topic === 'run.message' || topic.startsWith('run.lease_');

/** changesInbox reports whether an event may add an entry to the inbox or remove one. */
function changesInbox(topic: string): boolean {
  if (isAside(topic)) return false;
  return /^(run|workspace|inbox|host|worker)\./.test(topic) || topic === 'work_item.deleted';
}

/** changesBlocked reports whether an event may change the blocked flag of items other than the event's own. */
function changesBlocked(topic: string, payload: JournalEvent['payload']): boolean {
  return (
    topic === 'work_item.needs_changed' ||
    topic === 'work_item.unblocked' ||
    (topic === 'work_item.status_changed' && payload.old_status === 'done')
  );
}

/** patch applies an event to the data of a query, depending on the query's key. Null: the record was deleted. */
function patch(key: readonly unknown[], data: unknown, event: JournalEvent): unknown {
  if (data === null) return null;
  switch (key[0]) {
    case 'projects':
      return patchProjects(data as Project[], event);
    case 'work-items':
      return patchWorkItems(data as WorkItem[], key[1] as string, event);
    case 'work-item':
      return patchWorkItem(data as WorkItem, event);
    case 'runs':
      return patchRuns(data as Run[], key[1] as RunFilter, event);
    case 'ended-runs':
      return patchRunPages(data as RunPages, key[1] as RunFilter, event);
    case 'run':
      return patchRun(data as Run, event);
    case 'change-sizes':
      return patchChangeSizes(data as ChangeSizes, key[1] as string, event);
    case 'hosts':
      return patchHosts(data as Host[], event);
    case 'events':
      return key[1] === 'run'
        ? patchRunEvents(data as Event[], key[2] as string, event)
        : patchJournal(data as JournalPages, key[1] as string[], event, key[2] as string | undefined);
    case 'history':
      return patchHistory(data as JournalPages, key[1] as Subject, key[2] as string, event);
    default:
      return data;
  }
}

/** putWorkItem replaces an item with the server's version in every query that holds it. */
export function putWorkItem(client: QueryClient, item: WorkItem): void {
  client.setQueryData(keys.workItem(item.id), item);
  changeAll(client, (key, data) => {
    if (key[0] === 'work-item' && key[1] === item.id) return item;
    if (key[0] === 'work-items' && key[1] === item.project_id) return replaceItem(data as WorkItem[], item);
    return data;
  });
}

function replaceItem(items: WorkItem[], item: WorkItem): WorkItem[] {
  const rest = items.filter((other) => other.id !== item.id);
  rest.push(item);
  return rest.sort((a, b) => (a.position < b.position ? -1 : 1));
}

/** putRun replaces a run with the server's version in every query that holds it. */
export function putRun(client: QueryClient, run: Run): void {
  // A run without its details updates a cached detailed record, but does not create one.
  if ('evidence' in run) client.setQueryData<Run>(keys.run(run.id), (known) => known ?? run);
  changeAll(client, (key, data) => {
    switch (key[0]) {
      case 'run':
        return key[1] === run.id ? { ...(data as Run), ...run } : data;
      case 'runs':
        return withRun(data as Run[], key[1] as RunFilter, run);
      case 'ended-runs':
        return withEndedRun(data as RunPages, key[1] as RunFilter, run);
      default:
        return data;
    }
  });
}
