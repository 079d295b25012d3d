import { useLocation, useNavigate } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import { ArrowDown, ScrollText } from 'lucide-react';
import {
  type CSSProperties,
  useDeferredValue,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react';
import { messageOf } from '@/api/error';
import { isActive } from '@/api/records';
import type { RunDetail } from '@/api/schema.gen';
import { count } from '@/lib/count';
import { useShortcuts } from '@/lib/shortcuts';
import { phone, useMedia } from '@/lib/useMedia';
import { usePalette } from '@/terminal/usePalette';
import { Button } from '@/ui/Button';
import { cx } from '@/ui/cx';
import { EmptyState, ErrorState, Loading, Skeleton } from '@/ui/States';
import { toast } from '@/ui/toast';
import { Finder } from './find';
import { LogBar } from './LogBar';
import { LogRow } from './LogRow';
import { downloadLog, type LogStore, leaveLog, openLog } from './logStore';

const rowHeight = 20;
/** How far from the end, in px, still counts as the end. */
const nearEnd = 24;

/** Log shows the run's whole output. It renders only the visible lines. */
export function Log({ run }: { run: RunDetail }) {
  const [store, setStore] = useState<LogStore | null>(null);
  useEffect(() => {
    const made = openLog(run.id);
    setStore(made);
    return () => leaveLog(run.id, made);
  }, [run.id]);
  return store ? <Viewer run={run} store={store} /> : null;
}

function Viewer({ run, store }: { run: RunDetail; store: LogStore }) {
  const { lines, first, phase, error, version } = useSyncExternalStore(store.subscribe, store.get);
  const palette = usePalette();
  const small = useMedia(phone);
  const [wrapChosen, setWrap] = useState<boolean | null>(null);
  const wrap = wrapChosen ?? small;
  const [find, setFind] = useState('');
  const [hit, setHit] = useState(0);
  const [following, setFollowing] = useState(true);
  const [seen, setSeen] = useState(0);
  const search = useRef<HTMLInputElement>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const end = useRef(0);
  const [finder] = useState(() => new Finder());
  const query = useDeferredValue(find.trim().toLowerCase());
  // biome-ignore lint/correctness/useExhaustiveDependencies: the version stands for the growing list
  const hits = useMemo(() => finder.find(lines, first, query), [finder, lines, first, query, version]);
  const { anchor, setAnchor } = useAnchor(run.id);
  const target = anchor === null || first === null ? -1 : anchor - first;
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 8,
    paddingStart: 6,
    paddingEnd: 10,
    // It starts at its end: lines of the beginning would be rendered only to be replaced.
    enabled: lines.length > 0,
    initialOffset: () => (following && anchor === null ? lines.length * rowHeight : 0),
  });

  const height = rows.getTotalSize();
  // biome-ignore lint/correctness/useExhaustiveDependencies: every addition and every measured line moves the end
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!following || !element) return;
    // The position is above the one set last: the user has scrolled up, and the scroll event is still to come.
    if (element.scrollTop < end.current - nearEnd) return;
    element.scrollTop = element.scrollHeight;
    end.current = element.scrollTop;
    setSeen(lines.length);
  }, [following, version, wrap, height]);

  const arrived = target >= 0 && target < lines.length;
  useEffect(() => {
    if (!arrived) return;
    setFollowing(false);
    rows.scrollToIndex(target, { align: 'center' });
  }, [arrived, target, rows]);

  const go = (index: number): void => {
    if (hits.length === 0) return;
    const next = (index + hits.length) % hits.length;
    setHit(next);
    setFollowing(false);
    rows.scrollToIndex(hits[next] as number, { align: 'center' });
  };
  // A new search scrolls to its first match, also when that match arrives later.
  const sought = useRef('');
  const found = hits[0];
  useEffect(() => {
    if (query === '' || found === undefined) {
      if (query === '') sought.current = '';
      return;
    }
    if (sought.current === query) return;
    sought.current = query;
    setHit(0);
    setFollowing(false);
    rows.scrollToIndex(found, { align: 'center' });
  }, [query, found, rows]);
  useShortcuts({ '$mod+f': () => search.current?.focus() });
  const onScroll = (): void => {
    const element = scroller.current;
    if (!element) return;
    const atEnd = element.scrollHeight - element.scrollTop - element.clientHeight < nearEnd;
    // The position is the one set last, or below: the user has not scrolled up, but the log has grown.
    if (!atEnd && following && element.scrollTop >= end.current - nearEnd) return;
    if (atEnd !== following) setFollowing(atEnd);
    if (!atEnd) return;
    end.current = element.scrollTop;
    setSeen(lines.length);
  };
  const download = (): void => {
    downloadLog(run.id, run.session_name).catch((cause) =>
      toast.error('The log could not be saved', { description: messageOf(cause) }),
    );
  };

  if (error)
    return <ErrorState title="The log could not be read" message={messageOf(error)} className="pt-[10vh]" />;
  const items = rows.getVirtualItems();
  const fresh = lines.length - seen;
  const digits = String((first ?? 1) + lines.length).length;
  return (
    <div className="relative flex min-h-0 flex-1 flex-col">
      <LogBar
        find={find}
        onFind={(text) => {
          setFind(text);
          setHit(0);
        }}
        search={search}
        hit={hit}
        hits={hits.length}
        onStep={(by) => go(hit + by)}
        wrap={wrap}
        onWrap={setWrap}
        onDownload={download}
        lines={lines.length}
        phase={phase}
        whole={first === 1}
      />
      {lines.length === 0 ? (
        phase === 'loading' ? (
          <Loading label="Loading the log" className="flex-1 p-4">
            <Skeleton className="h-full" />
          </Loading>
        ) : (
          <EmptyState icon={<ScrollText className="size-5" />} title="No output yet" className="pt-[10vh]">
            {isActive(run)
              ? 'The output of the terminal appears here.'
              : 'The run ended without output, or its log was removed after its keeping time.'}
          </EmptyState>
        )
      ) : (
        <div
          ref={scroller}
          onScroll={onScroll}
          role="log"
          aria-label="Log"
          aria-live="off"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it
          tabIndex={0}
          style={
            {
              background: palette.background,
              color: palette.foreground,
              '--digits': `${digits}ch`,
            } as CSSProperties
          }
          className="min-h-0 flex-1 overflow-auto font-mono text-xs leading-5 [tab-size:8]"
        >
          <div style={{ height }} className={cx('min-w-full', !wrap && 'w-max')}>
            <div style={{ transform: `translateY(${items[0]?.start ?? 0}px)` }}>
              {items.map(({ index, key }) => {
                const line = lines[index];
                return (
                  line && (
                    <LogRow
                      key={key}
                      ref={rows.measureElement}
                      index={index}
                      number={first === null ? null : first + index}
                      line={line}
                      palette={palette}
                      wrap={wrap}
                      find={query}
                      chosen={index === target}
                      current={hits[hit] === index}
                      onChoose={setAnchor}
                    />
                  )
                );
              })}
            </div>
          </div>
        </div>
      )}
      {!following && fresh > 0 && (
        <Button
          size="sm"
          variant="primary"
          className="absolute bottom-4 left-1/2 -translate-x-1/2 rounded-full shadow-2"
          icon={<ArrowDown className="size-3.5" />}
          onClick={() => {
            end.current = 0;
            setFollowing(true);
          }}
        >
          {count(fresh)} new
        </Button>
      )}
    </div>
  );
}

/** useAnchor returns the line in the address's hash, #L12, and a function that sets it. */
function useAnchor(runId: string): { anchor: number | null; setAnchor(line: number): void } {
  const hash = useLocation({ select: (location) => location.hash });
  const navigate = useNavigate();
  const found = /^L(\d+)$/.exec(hash);
  return {
    anchor: found ? Number(found[1]) : null,
    setAnchor: (line) =>
      void navigate({
        to: '/runs/$runId',
        params: { runId },
        search: { tab: 'log' },
        hash: `L${line}`,
        replace: true,
        resetScroll: false,
      }),
  };
}
