// What a run has changed in its working copy: its checkpoints, the comments on them, and what becomes of them.
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

/** Version is what is read of a workspace: a checkpoint, against an earlier one or against its base. */
export interface Version {
  checkpoint: number;
  /** 0: the base. */
  since: number;
}

const queryOf = ({ checkpoint, since }: Version) => ({ checkpoint, ...(since > 0 && { since }) });

/** How long after a look at a working copy the next one is due, in ms, while its newest checkpoint is still on its way. */
const arrival = 2000;

/**
 * untilArrived has working copies read again until all their checkpoints have arrived. A checkpoint is told when it is
 * made; that it has arrived, and can be read, no event tells.
 */
export const untilArrived = (copies: readonly Workspace[]): number | false =>
  copies.some((copy) => copy.relayed_checkpoint < copy.checkpoint) ? arrival : false;

/** workspaceQuery is a run's working copy. */
export const workspaceQuery = (id: string) =>
  queryOptions({
    queryKey: keys.workspace(id),
    queryFn: ({ signal }) => call('GET /workspaces/{id}', { path: { id }, signal }),
    refetchInterval: ({ state: { data } }) => untilArrived(data ? [data] : []),
  });

/**
 * changeSizesQuery is how large the changes of a project's working copies are, those that are still on a host. Events tell
 * each change of them.
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

/** taskWorkspacesQuery is every working copy of a work item, newest first. */
export const taskWorkspacesQuery = (taskId: string) =>
  queryOptions({
    queryKey: keys.taskWorkspaces(taskId),
    queryFn: ({ signal }) => all('GET /workspaces', { task_id: taskId }, signal),
    refetchInterval: ({ state: { data } }) => untilArrived(data ?? []),
  });

/** useWant marks working copies as not wanted, or undoes that. */
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
    // Some may be done when one is refused.
    onSettled: () => stale(client, { queryKey: ['workspaces'] }),
  });
}

/** changesQuery is the files that differ. A checkpoint never changes, so it is read once. */
export const changesQuery = (id: string, version: Version) =>
  queryOptions({
    queryKey: keys.changes(id, version),
    queryFn: ({ signal }) =>
      call('GET /workspaces/{id}/changes', { path: { id }, query: queryOf(version), signal }),
  });

/** diffQuery is the patch of one file. */
export const diffQuery = (id: string, version: Version, path: string) =>
  queryOptions({
    queryKey: keys.diff(id, version, path),
    queryFn: ({ signal }) =>
      callText('GET /workspaces/{id}/diff', { path: { id }, query: { ...queryOf(version), path }, signal }),
  });

/** commentsQuery is every comment on a working copy, oldest first; drafts are everybody's. */
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

/** sendPreviewQuery is the prompt that a message and all drafts make. Nothing is sent. */
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

/** useCommentActions is what a person does with comments. */
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

/** useLand has the host bring a checkpoint into the repository. What came of it is told by the workspace. */
export function useLand(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ body, key }: { body: LandWorkspace; key: string }) =>
      call('POST /workspaces/{id}/land', { path: { id }, body, idempotencyKey: key }),
    onSuccess: (workspace) => client.setQueryData(keys.workspace(id), workspace),
  });
}
