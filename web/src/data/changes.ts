// What a run changed in its working copy: checkpoints, the comments on them, and how the change is landed or discarded.
import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import { all, call, callText } from '@/api/client';
import type {
  Comment,
  CreateComment,
  LandWorkspace,
  PatchComment,
  SendComments,
  Workspace,
} from '@/api/schema.gen';
import type { ChangeSizes } from '@/live/patches';
import { stale } from '@/live/stale';
import { keys } from './keys';
import { live } from './queries';

/** Version selects what is read of a workspace: a checkpoint, compared with an earlier one or with the base. */
export interface Version {
  checkpoint: number;
  /** 0: the base. */
  since: number;
}

const queryOf = ({ checkpoint, since }: Version) => ({ checkpoint, ...(since > 0 && { since }) });

/**
 * How often a working copy is read again, in ms, while its newest checkpoint has not yet arrived at the orchestrator.
 */
const arrival = 2000;

/**
 * untilArrived returns the interval at which working copies are read again until all their checkpoints have arrived.
 * An event reports that a checkpoint was made, but no event reports that it has arrived and can be read.
 */
export const untilArrived = (copies: readonly Workspace[]): number | false =>
  copies.some((copy) => copy.relayed_checkpoint < copy.checkpoint) ? arrival : false;

/** workspaceQuery reads a run's working copy. */
export const workspaceQuery = (id: string) =>
  queryOptions({
    queryKey: keys.workspace(id),
    queryFn: ({ signal }) => call('GET /workspaces/{id}', { path: { id }, signal }),
    refetchInterval: ({ state: { data } }) => untilArrived(data ? [data] : []),
  });

/**
 * changeSizesQuery reads the sizes of the changes in a project's working copies that are still on a host. Events report
 * every later change of a size.
 */
export const changeSizesQuery = (projectId: string) =>
  queryOptions({
    queryKey: keys.changeSizes(projectId),
    queryFn: ({ signal }) =>
      live(async () => {
        const state = ['ready' as const, 'busy' as const, 'missing' as const];
        const copies = await all('GET /workspaces', { project_id: projectId, state }, signal);
        return Object.fromEntries(
          copies.map(({ id, files, additions, deletions }) => [id, { files, additions, deletions }]),
        ) as ChangeSizes;
      }),
  });

/** taskWorkspacesQuery reads all working copies of a work item, newest first. */
export const taskWorkspacesQuery = (taskId: string) =>
  queryOptions({
    queryKey: keys.taskWorkspaces(taskId),
    queryFn: ({ signal }) => all('GET /workspaces', { task_id: taskId }, signal),
    refetchInterval: ({ state: { data } }) => untilArrived(data ?? []),
  });

/** useWant marks working copies as not wanted, or removes that mark. */
export function useWant() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async ({ ids, wanted }: { ids: string[]; wanted: boolean }) => {
      const done: Workspace[] = [];
      for (const id of ids)
        done.push(await call(`POST /workspaces/{id}/${wanted ? 'keep' : 'discard'}`, { path: { id } }));
      return done;
    },
    onSuccess: (copies) => {
      for (const copy of copies) client.setQueryData(keys.workspace(copy.id), copy);
    },
    // When one is refused, some may already have changed.
    onSettled: () => stale(client, { queryKey: ['workspaces'] }),
  });
}

/** changesQuery reads the list of changed files. A checkpoint never changes, so the list is read once. */
export const changesQuery = (id: string, version: Version) =>
  queryOptions({
    queryKey: keys.changes(id, version),
    queryFn: ({ signal }) =>
      call('GET /workspaces/{id}/changes', { path: { id }, query: queryOf(version), signal }),
  });

/** diffQuery reads the patch of one file. */
export const diffQuery = (id: string, version: Version, path: string) =>
  queryOptions({
    queryKey: keys.diff(id, version, path),
    queryFn: ({ signal }) =>
      callText('GET /workspaces/{id}/diff', { path: { id }, query: { ...queryOf(version), path }, signal }),
  });

/** commentsQuery reads all comments on a working copy, oldest first, including the drafts of all people. */
export const commentsQuery = (id: string) =>
  queryOptions({
    queryKey: keys.comments(id),
    queryFn: async ({ signal }) => {
      const items: Comment[] = [];
      let cursor: string | undefined;
      do {
        const query = { limit: 500, cursor };
        const page = await call('GET /workspaces/{id}/comments', { path: { id }, query, signal });
        items.push(...page.items);
        cursor = page.next_cursor ?? undefined;
      } while (cursor);
      return items;
    },
  });

/** sendPreviewQuery reads the prompt that would be sent for a message and all drafts. It sends nothing. */
export const sendPreviewQuery = (id: string, message: string) =>
  queryOptions({
    queryKey: keys.sendPreview(id, message),
    queryFn: ({ signal }) =>
      call('POST /workspaces/{id}/send', {
        path: { id },
        query: { preview: true },
        body: message ? { message } : {},
        signal,
      }),
    staleTime: 0,
    gcTime: 0,
  });

/** useCommentActions returns the actions on comments. */
export function useCommentActions(id: string) {
  const client = useQueryClient();
  const onSuccess = () => stale(client, { queryKey: keys.comments(id) });
  return {
    add: useMutation({
      mutationFn: ({ body, key }: { body: CreateComment; key: string }) =>
        call('POST /workspaces/{id}/comments', { path: { id }, body, idempotencyKey: key }),
      onSuccess,
    }),
    change: useMutation({
      mutationFn: ({ comment, patch }: { comment: string; patch: PatchComment }) =>
        call('PATCH /comments/{id}', { path: { id: comment }, body: patch }),
      onSuccess,
    }),
    remove: useMutation({
      mutationFn: (comment: string) => call('DELETE /comments/{id}', { path: { id: comment } }),
      onSuccess,
    }),
  };
}

/** useSendComments sends drafts to the agent of a working copy. */
export function useSendComments(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ body, key }: { body: SendComments; key: string }) =>
      call('POST /workspaces/{id}/send', { path: { id }, body, idempotencyKey: key }),
    onSuccess: () => stale(client, { queryKey: keys.comments(id) }),
  });
}

/** useLand makes the host land a checkpoint in the repository. The workspace record reports the result. */
export function useLand(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ body, key }: { body: LandWorkspace; key: string }) =>
      call('POST /workspaces/{id}/land', { path: { id }, body, idempotencyKey: key }),
    onSuccess: (workspace) => client.setQueryData(keys.workspace(id), workspace),
  });
}
