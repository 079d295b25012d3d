import { Link } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import { memo, type ReactNode, useCallback, useEffect, useMemo, useRef } from 'react';
import type { Event, Host, Project } from '@/api/records';
import { EventIcon } from '@/components/EventIcon';
import { eventText } from '@/components/eventText';
import { useKeptScroll } from '@/lib/kept';
import { RelativeTime } from '@/ui/RelativeTime';
import { Spinner } from '@/ui/Spinner';
import type { Entry } from './collapse';

/** EventList shows events of the journal. It renders only the visible ones, and loads more near its end. */
export function EventList({
  entries,
  hosts,
  projects,
  titles,
  more,
  loading,
  onMore,
}: {
  entries: Entry[];
  hosts: Host[];
  projects: Project[];
  titles: Map<string, string>;
  more: boolean;
  loading: boolean;
  onMore(): void;
}) {
  const scroller = useRef<HTMLDivElement>(null);
  const { initialOffset, onScroll } = useKeptScroll('events');
  const names = useMemo(
    () => new Map([...hosts, ...projects].map((each) => [each.id, each.name])),
    [hosts, projects],
  );
  const rows = useVirtualizer({
    count: entries.length + (more ? 1 : 0),
    getScrollElement: () => scroller.current,
    getItemKey: useCallback((index: number) => entries[index]?.event.seq ?? 'more', [entries]),
    estimateSize: () => 49,
    overscan: 8,
    initialOffset,
  });
  const items = rows.getVirtualItems();
  const near = more && (items.at(-1)?.index ?? 0) >= entries.length - 10;
  useEffect(() => {
    if (near && !loading) onMore();
  }, [near, loading, onMore]);
  return (
    <div ref={scroller} onScroll={onScroll} className="min-h-0 flex-1 overflow-y-auto">
      <ol aria-label="Events, newest first" className="relative" style={{ height: rows.getTotalSize() }}>
        {items.map(({ index, key, start }) => {
          const entry = entries[index];
          return (
            <li
              key={key}
              ref={rows.measureElement}
              data-index={index}
              className="absolute inset-x-0 top-0"
              style={{ transform: `translateY(${start}px)` }}
            >
              {entry ? (
                <Row
                  event={entry.event}
                  earlier={entry.earlier}
                  title={titles.get(String(entry.event.payload.task_id))}
                  host={names.get(String(entry.event.payload.host_id))}
                  project={names.get(String(entry.event.payload.project_id))}
                />
              ) : (
                <div className="flex h-12 items-center justify-center">
                  <Spinner className="text-ink-3" />
                </div>
              )}
            </li>
          );
        })}
      </ol>
    </div>
  );
}

const Row = memo(function Row({
  event,
  earlier,
  title,
  host,
  project,
}: {
  event: Event;
  earlier: number;
  title?: string;
  host?: string;
  project?: string;
}) {
  const text = eventText(event);
  const about = title ?? (typeof event.payload.title === 'string' ? event.payload.title : undefined);
  return (
    <Target event={event}>
      <EventIcon text={text} />
      <span className="flex min-w-0 flex-1 flex-col">
        <span className="flex min-w-0 items-baseline gap-2">
          <span className="max-w-[75%] shrink-0 truncate text-sm font-medium">{text.title}</span>
          {about && <span className="truncate text-sm text-ink-2">{about}</span>}
        </span>
        <span className="flex min-w-0 gap-1.5 text-xs text-ink-3">
          {text.detail && <span className="truncate text-ink-2">{text.detail}</span>}
          <span className="shrink-[100] truncate">
            {[project, host, text.source, earlier > 0 && `${earlier} earlier`].filter(Boolean).join(' · ')}
          </span>
        </span>
      </span>
      <span className="shrink-0 text-right text-xs text-ink-3 tabular">
        <RelativeTime at={event.created_at} />
      </span>
    </Target>
  );
});

const row = 'flex min-h-12 items-center gap-3 border-b px-4 py-1.5 hover:bg-hover sm:px-5';

/** Target makes an event a link to its subject. */
function Target({ event: { topic, payload }, children }: { event: Event; children: ReactNode }) {
  if (typeof payload.run_id === 'string') {
    return (
      <Link to="/runs/$runId" params={{ runId: payload.run_id }} className={row}>
        {children}
      </Link>
    );
  }
  if (typeof payload.task_id === 'string' && topic !== 'work_item.deleted') {
    return (
      <Link to="/t/$id" params={{ id: payload.task_id }} className={row}>
        {children}
      </Link>
    );
  }
  if (typeof payload.host_id === 'string' && topic !== 'host.deleted') {
    return (
      <Link to="/hosts/$hostId" params={{ hostId: payload.host_id }} className={row}>
        {children}
      </Link>
    );
  }
  return <div className={row}>{children}</div>;
}
