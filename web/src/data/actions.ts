// Changes that a person makes to records. Each action writes the server's answer into the cache at once, so the page
// does not wait for the event of its own change.
import { type QueryClient, useMutation, useQueryClient } from '@tanstack/react-query';
import { useCallback, useState } from 'react';
import { call, tagged } from '@/api/client';
import type { Host, Project, WorkItem } from '@/api/records';
import type {
  CreateHost,
  CreateProject,
  CreateRun,
  CreateWorkItem,
  PatchHost,
  PatchProject,
  PatchWorkItem,
  Run,
  SendMessage,
} from '@/api/schema.gen';
import { randomKey } from '@/lib/id';
import { putRun, putWorkItem } from '@/live/cache';
import { amend, stale } from '@/live/stale';
import { keys } from './keys';
import { guess, type Move, patchOf, undoOf, withGuess, withoutGuess } from './moves';
import { onVersion } from './versions';

/**
 * useMoveItem returns a function that moves an item. It resolves to the move that undoes it, or null if nothing
 * changed.
 */
export function useMoveItem(projectId: string): (id: string, move: Move) => Promise<Move | null> {
  const client = useQueryClient();
  return useCallback(
    async (id, move) => {
      const key = keys.workItems(projectId);
      const items = client.getQueryData<WorkItem[]>(key) ?? [];
      const made = guess(items, id, move);
      if (!made) return null;
      const undo = undoOf(items, made);
      const show = (change: (items: WorkItem[]) => WorkItem[]): void => {
        amend<WorkItem[]>(client, key, change);
        amend<WorkItem>(client, keys.workItem(id), (now) => change([now])[0]);
      };
      show((now) => withGuess(now, made));
      try {
        putWorkItem(
          client,
          await call('PATCH /work-items/{id}', { path: { id }, body: patchOf(move, made) }),
        );
        // The server also moved everything below the item, but its answer contains only the item itself.
        if (made.set.parent_id !== undefined) await stale(client, { queryKey: key });
        return undo;
      } catch (error) {
        show((now) => withoutGuess(now, made));
        throw error;
      }
    },
    [client, projectId],
  );
}

/** useUpdateItem changes fields of an item. */
export function useUpdateItem() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id, patch }: { id: string; patch: PatchWorkItem }) =>
      call('PATCH /work-items/{id}', { path: { id }, body: patch }),
    onSuccess: (item) => putWorkItem(client, item),
  });
}

/** TextConflict reports that another person changed a text after it was read. theirs is the new text. */
export class TextConflict extends Error {
  constructor(readonly theirs: string) {
    super('someone else has changed it meanwhile');
  }
}

/** saveDescription saves a text that was based on an older text. It throws a TextConflict if the base has changed. */
export function saveDescription(id: string, text: string, base: string): Promise<WorkItem> {
  const path = { id };
  return onVersion(
    () => tagged('GET /work-items/{id}', { path }),
    async (item, version) => {
      if (item.description === text) return item;
      if (item.description !== base) throw new TextConflict(item.description);
      return call('PATCH /work-items/{id}', { path, body: { description: text }, ...version });
    },
  );
}

/** useSaveDescription saves a description, but never overwrites another person's change. */
export function useSaveDescription() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id, text, base }: { id: string; text: string; base: string }) =>
      saveDescription(id, text, base),
    onSuccess: (item) => putWorkItem(client, item),
  });
}

/** useChangeNeed adds another item to an item's needs, or removes it. */
export function useChangeNeed(item: WorkItem) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ other, needed }: { other: string; needed: boolean }) =>
      call(`${needed ? 'PUT' : 'DELETE'} /work-items/{id}/needs/{other}`, { path: { id: item.id, other } }),
    onSuccess: async () => {
      const path = { id: item.id };
      putWorkItem(client, await call('GET /work-items/{id}', { path }));
      // Everything below the item is blocked together with it.
      return stale(client, { queryKey: keys.workItems(item.project_id) });
    },
  });
}

/** useCreateItem adds an item at the end of its project. */
export function useCreateItem() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: CreateWorkItem) => call('POST /work-items', { body, idempotencyKey: randomKey() }),
    onSuccess: (item) => putWorkItem(client, item),
  });
}

/** useDeleteItem deletes an item, with recursive also everything below it. */
export function useDeleteItem() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ item, recursive }: { item: WorkItem; recursive: boolean }) =>
      call('DELETE /work-items/{id}', { path: { id: item.id }, query: recursive ? { recursive } : {} }),
    onSuccess: (_, { item }) => {
      amend<WorkItem[]>(client, keys.workItems(item.project_id), (items) =>
        items.filter((other) => other.id !== item.id && !other.path.startsWith(`${item.path}/`)),
      );
      client.removeQueries({ queryKey: keys.workItem(item.id), exact: true });
    },
  });
}

/**
 * useStartRun creates a run, which is placed on a host later. With again (a run's id), the new run copies every field
 * that the form does not set, such as the environment.
 */
export function useStartRun() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ body, key, again }: { body: CreateRun; key: string; again?: string }) =>
      again
        ? call('POST /runs/{id}/rerun', { path: { id: again }, body, idempotencyKey: key })
        : call('POST /runs', { body, idempotencyKey: key }),
    onSuccess: (run) => {
      putRun(client, run);
      void stale(client, { queryKey: ['runs'] });
    },
  });
}

/**
 * useStartRuns starts several runs that differ only in tool and model. When one is refused, the runs before it have
 * started. A second attempt with the same key starts only the missing ones.
 */
export function useStartRuns() {
  const start = useStartRun();
  const [started, setStarted] = useState(0);
  const all = useMutation({
    mutationFn: async (order: {
      key: string;
      again?: string;
      body: CreateRun;
      with: { provider: string; model: string }[];
    }) => {
      const runs: Run[] = [];
      for (const [index, each] of order.with.entries()) {
        setStarted(index);
        const key = index === 0 ? order.key : `${order.key}-${index}`;
        runs.push(await start.mutateAsync({ key, again: order.again, body: { ...order.body, ...each } }));
      }
      return runs;
    },
  });
  return { ...all, started };
}

/** useRerun starts an ended run again with the same settings. The run waits in the queue until a host has room. */
export function useRerun() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id, key }: { id: string; key: string }) =>
      call('POST /runs/{id}/rerun', { path: { id }, body: { wait: true }, idempotencyKey: key }),
    onSuccess: (run) => {
      putRun(client, run);
      void stale(client, { queryKey: ['runs'] });
    },
  });
}

/** useStopRun stops a run. */
export function useStopRun() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => call('POST /runs/{id}/stop', { path: { id } }),
    onSuccess: (run) => putRun(client, run),
  });
}

const byName = (a: Project, b: Project): number => a.name.localeCompare(b.name);

/** useCreateProject adds a project. */
export function useCreateProject() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: CreateProject) => call('POST /projects', { body, idempotencyKey: randomKey() }),
    onSuccess: (project) => {
      amend<Project[]>(client, keys.projects, (projects) =>
        [...projects.filter((other) => other.id !== project.id), project].sort(byName),
      );
    },
  });
}

/** FieldConflict reports that another person changed fields of a project after they were read. */
export class FieldConflict extends Error {
  constructor(readonly theirs: Project) {
    super('someone else has changed it meanwhile');
  }
}

/** ProjectChange has fields of a project: the new values in patch, and the values that the person saw in base. */
export interface ProjectChange {
  id: string;
  patch: PatchProject;
  base: Partial<Project>;
}

/** saveProject changes fields of a project. It throws a FieldConflict if one of them differs from its base value. */
export function saveProject({ id, patch, base }: ProjectChange): Promise<Project> {
  const path = { id };
  const names = Object.keys(patch) as (keyof PatchProject)[];
  return onVersion(
    () => tagged('GET /projects/{id}', { path }),
    async (project, version) => {
      const taken = names.filter((name) => project[name] !== patch[name]);
      if (taken.some((name) => name in base && project[name] !== base[name]))
        throw new FieldConflict(project);
      return call('PATCH /projects/{id}', { path, body: patch, ...version });
    },
  );
}

/** useSaveProject changes fields of a project, but never overwrites another person's change. */
export function useSaveProject() {
  const client = useQueryClient();
  const put = (project: Project): void => {
    amend<Project[]>(client, keys.projects, (projects) =>
      projects.map((other) => (other.id === project.id ? project : other)),
    );
  };
  return useMutation({
    mutationFn: saveProject,
    onSuccess: put,
    onError: (error) => {
      if (error instanceof FieldConflict) put(error.theirs);
    },
  });
}

/** useArchiveProject archives a project. Its runs continue and can still be watched. */
export function useArchiveProject() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => call('DELETE /projects/{id}', { path: { id } }),
    onSuccess: (project) => {
      amend<Project[]>(client, keys.projects, (projects) =>
        projects.filter((other) => other.id !== project.id),
      );
    },
  });
}

/** useSendKeys types into a run's session without attaching. */
export function useSendKeys() {
  return useMutation({
    mutationFn: ({ id, keys }: { id: string; keys: string[] }) =>
      call('POST /runs/{id}/keys', { path: { id }, body: { keys }, idempotencyKey: randomKey() }),
  });
}

/** useSendMessage sends a message to a run's agent. */
export function useSendMessage() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id, key, body }: { id: string; key: string; body: SendMessage }) =>
      call('POST /runs/{id}/messages', { path: { id }, body, idempotencyKey: key }),
    onSuccess: ({ run_id }) => stale(client, { queryKey: keys.messages(run_id) }),
  });
}

/** useSetAside snoozes an inbox entry until a time; without a time it dismisses the entry. */
export function useSetAside() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ key, until }: { key: string; until?: string }) =>
      until
        ? call('POST /inbox/{key}/snooze', { path: { key }, body: { until } })
        : call('POST /inbox/{key}/dismiss', { path: { key } }),
    onSuccess: () => stale(client, { queryKey: ['inbox'] }),
  });
}

/** putHost replaces a host with the server's version. */
export function putHost(client: QueryClient, host: Host): void {
  amend<Host[]>(client, keys.hosts, (hosts) =>
    [...hosts.filter((other) => other.id !== host.id), host].sort((a, b) => (a.name < b.name ? -1 : 1)),
  );
}

/** useHostAction allows new runs on a host, forbids them, or accepts the host's new identity. */
export function useHostAction() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id, action }: { id: string; action: 'enable' | 'disable' | 'clear-suspect' }) =>
      call(`POST /hosts/{id}/${action}`, { path: { id } }),
    onSuccess: (host) => putHost(client, host),
  });
}

/** useUpdateHost changes fields of a host. */
export function useUpdateHost() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id, patch }: { id: string; patch: PatchHost }) =>
      call('PATCH /hosts/{id}', { path: { id }, body: patch }),
    onSuccess: (host) => putHost(client, host),
  });
}

/** useCreateHost creates a host and the token with which its worker joins. */
export function useCreateHost() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async (body: CreateHost) => {
      const host = await call('POST /hosts', { body, idempotencyKey: randomKey() });
      putHost(client, host);
      return { host, ...(await call('POST /hosts/{id}/token', { path: { id: host.id } })) };
    },
  });
}

/** useHostToken reads the token with which a host's worker joins. */
export function useHostToken() {
  return useMutation({ mutationFn: (id: string) => call('POST /hosts/{id}/token', { path: { id } }) });
}

/** useDeleteHost deletes a host without active runs. By force, its active runs end as host_lost first. */
export function useDeleteHost() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id, force }: { id: string; force: boolean }) =>
      call('DELETE /hosts/{id}', { path: { id }, query: force ? { force } : {} }),
    onSuccess: (_, { id }) => {
      amend<Host[]>(client, keys.hosts, (hosts) => hosts.filter((other) => other.id !== id));
    },
  });
}
