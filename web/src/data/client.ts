import { QueryClient } from '@tanstack/react-query';
import { ApiError } from '@/api/error';

/**
 * queryClient holds all server data. The event stream keeps it up to date, so nothing is read again because a tab got
 * the focus. After the stream was lost, the data that may have changed is read again.
 */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: Number.POSITIVE_INFINITY,
      gcTime: 10 * 60_000,
      refetchOnWindowFocus: false,
      refetchOnReconnect: false,
      networkMode: 'always',
      retry: (failures, error) =>
        error instanceof ApiError && (error.unreachable || error.status >= 500) && failures < 4,
      retryDelay: (failures) => Math.min(8000, 400 * 2 ** failures),
    },
    mutations: { networkMode: 'always' },
  },
});
