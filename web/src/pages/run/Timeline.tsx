import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import { History } from 'lucide-react';
import { useCallback, useRef } from 'react';
import { messageOf } from '@/api/error';
import type { Event } from '@/api/records';
import type { RunDetail } from '@/api/schema.gen';
import { EventIcon } from '@/components/EventIcon';
import { eventText } from '@/components/eventText';
import { purgedBeforeQuery, runEventsQuery } from '@/data/queries';
import { exact, span } from '@/lib/time';
import { Badge } from '@/ui/Badge';
import { RelativeTime } from '@/ui/RelativeTime';
import { EmptyState, ErrorState, Loading, Skeleton } from '@/ui/States';
import { attemptOf } from './replay/moment';

/** Timeline shows the events of the run, newest first, each with its source and its time. */
export function Timeline({ run }: { run: RunDetail }) {
  const { data: events, error, refetch } = useQuery(runEventsQuery(run.id));
  const { data: purgedBefore } = useQuery(purgedBeforeQuery);
  const purged = purgedBefore != null && run.created_at < purgedBefore;
  if (error && !events) {
    return (
      <ErrorState
        title="The journal could not be read"
        message={messageOf(error)}
        retry={() => void refetch()}
      />
    );
  }
  if (!events) {
    return (
      <Loading label="Loading the timeline" className="flex flex-col gap-3 p-5">
        <Skeleton className="h-10" />
        <Skeleton className="h-10" />
        <Skeleton className="h-10" />
      </Loading>
    );
  }
  if (events.length === 0) {
    return (
      <EmptyState
        icon={<History className="size-5" />}
        title={purged ? 'The events of this run were removed' : 'No events yet'}
        className="pt-[10vh]"
      >
        {purged &&
          'Events are kept for a limited time. What the run did stands under Details, and its output under Log.'}
      </EmptyState>
    );
  }
  return <Story runId={run.id} events={events} several={run.attempt > 1} purged={purged} />;
}

function Story({
  runId,
  events,
  several,
  purged,
}: {
  runId: string;
  events: Event[];
  several: boolean;
  purged: boolean;
}) {
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: events.length,
    getScrollElement: () => scroller.current,
    getItemKey: useCallback((index: number) => events[index]?.seq ?? index, [events]),
    estimateSize: () => 55,
    overscan: 8,
    paddingStart: 20,
    paddingEnd: 20,
  });
  return (
    <div ref={scroller} className="min-h-0 flex-1 overflow-y-auto">
      <ol
        aria-label="Events of this run, newest first"
        className="relative mx-auto max-w-3xl"
        style={{ height: rows.getTotalSize() }}
      >
        {rows.getVirtualItems().map(({ index, key, start }) => {
          const event = events[index];
          return (
            event && (
              <li
                key={key}
                ref={rows.measureElement}
                data-index={index}
                className="absolute inset-x-4 top-0 flex gap-3 pb-4 sm:inset-x-6"
                style={{ transform: `translateY(${start}px)` }}
              >
                <Row runId={runId} event={event} next={events[index + 1]} several={several} />
              </li>
            )
          );
        })}
      </ol>
      {purged && <p className="pb-5 text-center text-xs text-ink-3">Older events were removed.</p>}
    </div>
  );
}

function Row({
  runId,
  event,
  next,
  several,
}: {
  runId: string;
  event: Event;
  next?: Event;
  several: boolean;
}) {
  const text = eventText(event);
  const gap = next ? Date.parse(event.created_at) - Date.parse(next.created_at) : 0;
  return (
    <>
      {next && <span aria-hidden className="absolute top-7 bottom-1 left-3 w-px bg-line" />}
      <EventIcon text={text} />
      <div className="min-w-0 flex-1 pt-0.5">
        <div className="flex flex-wrap items-baseline gap-x-2">
          <span className="text-sm font-medium break-words">{text.title}</span>
          {several && <Badge>attempt {String(event.payload.attempt)}</Badge>}
          <span className="ml-auto shrink-0 text-xs text-ink-3 tabular">
            <RelativeTime at={event.created_at} />
          </span>
        </div>
        <div className="flex flex-wrap gap-x-1.5 text-xs text-ink-3">
          {text.detail && <span className="break-words text-ink-2">{text.detail}</span>}
          {text.detail && <span aria-hidden>·</span>}
          <span>by {text.source}</span>
          <span aria-hidden>·</span>
          <time dateTime={event.created_at}>{exact(event.created_at)}</time>
          {gap >= 1000 && <span>· {span(gap)} later</span>}
          {attemptOf(event) > 0 && (
            <>
              <span aria-hidden>·</span>
              <Link
                to="/runs/$runId"
                params={{ runId }}
                search={{ tab: 'replay', event: event.seq }}
                aria-label={`Replay from here: ${text.title}`}
                className="text-ink-2 underline decoration-line-strong underline-offset-2 hover:text-ink"
              >
                Replay from here
              </Link>
            </>
          )}
        </div>
      </div>
    </>
  );
}
