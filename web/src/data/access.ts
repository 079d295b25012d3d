// Access tokens, notification sinks and orchestrators. Only an admin may see them.
import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import { all, call } from '@/api/client';
import type { CreateToken } from '@/api/schema.gen';
import { stale } from '@/live/stale';
import { keys } from './keys';

/** tokensQuery reads all access tokens, newest first, including those that no longer work. */
export const tokensQuery = queryOptions({
  queryKey: keys.tokens,
  queryFn: ({ signal }) => all('GET /tokens', {}, signal),
});

/**
 * useCreateToken creates a token. Only the first answer contains its secret; the answer to a repeated request does not.
 */
export function useCreateToken() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ body, key }: { body: CreateToken; key: string }) =>
      call('POST /tokens', { body, idempotencyKey: key }),
    onSuccess: () => stale(client, { queryKey: keys.tokens }),
    gcTime: 0, // the secret is dropped with the dialog that shows it
  });
}

/** useRevokeToken revokes a token. */
export function useRevokeToken() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => call('DELETE /tokens/{id}', { path: { id } }),
    onSuccess: () => stale(client, { queryKey: keys.tokens }),
  });
}

/** sinksQuery reads the notification sinks. No event reports their deliveries, so they are read every 10 s. */
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

/**
 * replicasQuery reads the orchestrator processes, newest first. Their heartbeats cause no event, so it polls every 10
 * s.
 */
export const replicasQuery = queryOptions({
  queryKey: keys.replicas,
  queryFn: ({ signal }) => all('GET /replicas', {}, signal),
  refetchInterval: 10_000,
});

/** useDrainReplica makes an orchestrator hand over its work and exit. */
export function useDrainReplica() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => call('POST /replicas/{id}/drain', { path: { id } }),
    onSettled: () => stale(client, { queryKey: keys.replicas }),
  });
}
