// Who may come in, where notifications go, and which orchestrators there are: what only an admin sees.
import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import { all, call } from '@/api/client';
import type { CreateToken } from '@/api/schema.gen';
import { stale } from '@/live/stale';
import { keys } from './keys';

/** tokensQuery is every access token, newest first, with those that no longer work. */
export const tokensQuery = queryOptions({
  queryKey: keys.tokens,
  queryFn: ({ signal }) => all('GET /tokens', {}, signal),
});

/** useCreateToken makes a token. Its secret is in the first answer alone; a repeated request has none. */
export function useCreateToken() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ body, key }: { body: CreateToken; key: string }) =>
      call('POST /tokens', { body, idempotencyKey: key }),
    onSuccess: () => stale(client, { queryKey: keys.tokens }),
    gcTime: 0, // the secret stays no longer than the dialog that shows it
  });
}

/** useRevokeToken ends a token. */
export function useRevokeToken() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => call('DELETE /tokens/{id}', { path: { id } }),
    onSuccess: () => stale(client, { queryKey: keys.tokens }),
  });
}

/** sinksQuery is where notifications go. The journal does not tell how that fares, so it is read now and then. */
export const sinksQuery = queryOptions({
  queryKey: keys.sinks,
  queryFn: async ({ signal }) => (await call('GET /notify', { signal })).items,
  refetchInterval: 10_000,
});

/** useTestSink sends a test message to a sink, at once. */
export function useTestSink() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (name: string) => call('POST /notify/{name}/test', { path: { name } }),
    onSettled: () => stale(client, { queryKey: keys.sinks }),
  });
}

/** replicasQuery is the orchestrator processes, newest first. They say that they live without an event, so it is read now and then. */
export const replicasQuery = queryOptions({
  queryKey: keys.replicas,
  queryFn: ({ signal }) => all('GET /replicas', {}, signal),
  refetchInterval: 10_000,
});

/** useDrainReplica has an orchestrator hand over and end. */
export function useDrainReplica() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => call('POST /replicas/{id}/drain', { path: { id } }),
    onSettled: () => stale(client, { queryKey: keys.replicas }),
  });
}
