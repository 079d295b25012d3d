import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { all, call, prefix } from '@/api/client';
import { activeStatuses, type Event, endedStatuses, type Run } from '@/api/records';
import { streamReady } from '@/live/connection';
import { historyTopics, type RunFilter, type RunPages, runTopics, type Subject } from '@/live/patches';
import { keys } from './keys';

/** How many ended runs the first read of a list of runs contains. */
const endedRuns = 200;

/** live waits for the event stream before it reads, because from then on events keep the data up to date. */
export async function live<T>(ask: () => Promise<T>): Promise<T> {
  await streamReady;
  return ask();
}

/** meQuery reads the access token with which this browser is signed in. */
export const meQuery = queryOptions({
  queryKey: keys.me,
  queryFn: ({ signal }) => call('GET /me', { signal }),
});

/** versionQuery reads the version of the server. */
export const versionQuery = queryOptions({
  queryKey: keys.version,
  queryFn: async ({ signal }) => {
    const response = await fetch(`${prefix}/openapi.json`, { signal });
    return ((await response.json()) as { info: { version: string } }).info.version;
  },
});

/** projectsQuery reads all projects that are not archived, by name. */
export const projectsQuery = queryOptions({
  queryKey: keys.projects,
  queryFn: ({ signal }) =>
    live(async () => {
      const projects = await all('GET /projects', {}, signal);
      return projects.filter((project) => project.status === 'active');
    }),
});

/** workItemsQuery reads all items of a project, by position. */
export const workItemsQuery = (projectId: string) =>
  queryOptions({
    queryKey: keys.workItems(projectId),
    queryFn: ({ signal }) => live(() => all('GET /work-items', { project_id: projectId }, signal)),
  });

/** workItemQuery reads one item with its description. */
export const workItemQuery = (id: string) =>
  queryOptions({
    queryKey: keys.workItem(id),
    queryFn: ({ signal }) => live(() => call('GET /work-items/{id}', { path: { id }, signal })),
  });

/** runsQuery reads the active runs that match a filter, and the newest ended ones; newest first. */
export const runsQuery = (filter: RunFilter) =>
  queryOptions({
    queryKey: keys.runs(filter),
    queryFn: ({ signal }) =>
      live(async () => {
        const [active, newest] = await Promise.all([
          all('GET /runs', { ...filter, status: [...activeStatuses] }, signal),
          call('GET /runs', { query: { ...filter, limit: endedRuns }, signal }),
        ]);
        const byId = new Map<string, Run>([...active, ...newest.items].map((run) => [run.id, run]));
        return [...byId.values()].sort((a, b) => (a.created_at < b.created_at ? 1 : -1));
      }),
  });

/** activeRunsQuery reads the active runs that match a filter, newest first. */
export const activeRunsQuery = (filter: RunFilter) => {
  const wanted = { ...filter, status: filter.status ?? [...activeStatuses] };
  return queryOptions({
    queryKey: keys.runs(wanted),
    queryFn: ({ signal }) => live(async (): Promise<Run[]> => all('GET /runs', wanted, signal)),
  });
};

/** How many ended runs one page has. */
const endedPage = 100;
/** endedRunsQuery reads the ended runs that match a filter, newest first, page by page. */
export const endedRunsQuery = (filter: RunFilter) => {
  const wanted = { ...filter, status: filter.status ?? [...endedStatuses] };
  return infiniteQueryOptions({
    queryKey: keys.endedRuns(wanted),
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      live(
        async (): Promise<RunPages['pages'][number]> =>
          call('GET /runs', { query: { ...wanted, limit: endedPage, cursor: pageParam }, signal }),
      ),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  });
};

/** runCountsQuery reads the number of runs that match a filter, for each status. */
export const runCountsQuery = (filter: RunFilter) =>
  queryOptions({
    queryKey: keys.runCounts(filter),
    queryFn: ({ signal }) => call('GET /runs/counts', { query: filter, signal }),
  });

/** queueQuery reads the waiting runs in the order in which they will be placed, page by page. */
export const queueQuery = (projectId?: string) =>
  infiniteQueryOptions({
    queryKey: keys.queue(projectId),
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      call('GET /runs', {
        query: {
          status: ['pending'],
          order: 'queue',
          project_id: projectId,
          limit: endedPage,
          cursor: pageParam,
        },
        signal,
      }),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  });

/** The maximal age of the shown reason for waiting, in ms: hosts fill up and become free without an event of the run. */
const waitingAge = 10_000;
/** waitingQuery reads why a run waits. Null: the run no longer waits. */
export const waitingQuery = (id: string) =>
  queryOptions({
    queryKey: keys.waiting(id),
    queryFn: async ({ signal }) => (await call('GET /runs/{id}', { path: { id }, signal })).waiting,
    refetchInterval: waitingAge,
  });

/** runQuery reads one run. */
export const runQuery = (id: string) =>
  queryOptions({
    queryKey: keys.run(id),
    queryFn: ({ signal }) => live(() => call('GET /runs/{id}', { path: { id }, signal })),
  });

/** messagesQuery reads the messages to a run's agent, in the order in which they were sent. */
export const messagesQuery = (id: string) =>
  queryOptions({
    queryKey: keys.messages(id),
    queryFn: async ({ signal }) => (await call('GET /runs/{id}/messages', { path: { id }, signal })).items,
  });

/** hostsQuery reads all hosts, by name. */
export const hostsQuery = queryOptions({
  queryKey: keys.hosts,
  queryFn: ({ signal }) => live(() => all('GET /hosts', {}, signal)),
});

/**
 * inboxQuery reads what needs a person, newest first. The server computes it; it is read again when something changes.
 */
export const inboxQuery = (snoozed: boolean) =>
  queryOptions({
    queryKey: keys.inbox(snoozed),
    queryFn: ({ signal }) => live(() => all('GET /inbox', { snoozed: snoozed ? 'true' : 'false' }, signal)),
  });

/** providersQuery reads the catalog with each provider's availability on each host. */
export const providersQuery = queryOptions({
  queryKey: keys.providers,
  queryFn: ({ signal }) => live(async () => (await call('GET /providers', { signal })).items),
});

/** How many events one page of the journal has. */
const eventPage = 200;
/**
 * journalQuery reads the events of the journal or of one project, newest first, page by page. topics are globs; with
 * none, all topics match.
 */
export const journalQuery = (topics: string[], projectId?: string) =>
  infiniteQueryOptions({
    queryKey: keys.events(topics, projectId),
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      live(() =>
        call('GET /events', {
          query: { topic: topics, project_id: projectId, limit: eventPage, cursor: pageParam },
          signal,
        }),
      ),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  });

/** runEventsQuery reads the events of one run, newest first, without the growth of its output. */
export const runEventsQuery = (id: string) =>
  queryOptions({
    queryKey: keys.runEvents(id),
    queryFn: ({ signal }) =>
      live(async () => {
        const found: Event[] = [];
        let cursor: string | undefined;
        do {
          const query = { run_id: id, topic: [...runTopics], limit: 500, cursor };
          const page = await call('GET /events', { query, signal });
          found.push(...page.items);
          cursor = page.next_cursor ?? undefined;
        } while (cursor);
        return found;
      }),
  });

/** How many events one page of a history has. */
const historyPage = 20;
/** historyQuery reads the events of one work item or host, newest first, page by page. */
export const historyQuery = (subject: Subject, id: string) =>
  infiniteQueryOptions({
    queryKey: keys.history(subject, id),
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      live(() =>
        call('GET /events', {
          query: { [subject]: id, topic: [...historyTopics[subject]], limit: historyPage, cursor: pageParam },
          signal,
        }),
      ),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  });

/** purgedBeforeQuery reads the time before which events were removed. Null: no events were removed. */
export const purgedBeforeQuery = queryOptions({
  queryKey: keys.purgedBefore,
  queryFn: async ({ signal }) => (await call('GET /events', { query: { limit: 1 }, signal })).purged_before,
});
