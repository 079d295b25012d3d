import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { messageOf } from '@/api/error';
import { historyQuery, purgedBeforeQuery } from '@/data/queries';
import type { Subject } from '@/live/patches';
import { Button } from '@/ui/Button';
import { RelativeTime } from '@/ui/RelativeTime';
import { ErrorState, Loading, Skeleton } from '@/ui/States';
import { EventIcon } from './EventIcon';
import { eventText } from './eventText';

/** History shows all events of one work item or host, newest first. */
export function History({ subject, id, since }: { subject: Subject; id: string; since: string }) {
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(
    historyQuery(subject, id),
  );
  const { data: purgedBefore } = useQuery(purgedBeforeQuery);
  const events = data?.pages.flatMap((page) => page.items);
  return (
    <section aria-label="History" className="flex flex-col gap-2">
      <h2 className="text-sm font-semibold">History</h2>
      {error && !events && (
        <ErrorState
          title="The journal could not be read"
          message={messageOf(error)}
          retry={() => void refetch()}
        />
      )}
      {!error && !events && (
        <Loading label="Loading the history" className="flex flex-col gap-2">
          <Skeleton className="h-6" />
          <Skeleton className="h-6" />
        </Loading>
      )}
      {events && (
        <ol className="flex flex-col gap-2">
          {events.map((event) => {
            const text = eventText(event);
            return (
              <li key={event.seq} className="flex items-center gap-3 text-sm">
                <EventIcon text={text} />
                <span className="min-w-0 flex-1 truncate">
                  {text.title}
                  {text.detail && <span className="text-ink-3"> {text.detail}</span>}
                </span>
                <span className="shrink-0 text-xs text-ink-3 tabular">
                  <RelativeTime at={event.created_at} />
                </span>
              </li>
            );
          })}
        </ol>
      )}
      {hasNextPage && (
        <Button
          variant="ghost"
          size="sm"
          disabled={isFetchingNextPage}
          onClick={() => void fetchNextPage()}
          className="self-start"
        >
          Older
        </Button>
      )}
      {events && !hasNextPage && purgedBefore != null && since < purgedBefore && (
        <p className="text-xs text-ink-3">Older events were removed.</p>
      )}
    </section>
  );
}
