import { useVirtualizer } from '@tanstack/react-virtual';
import { ChevronsLeft, Plus } from 'lucide-react';
import { memo, type RefObject, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { ItemStatus, WorkItem } from '@/api/records';
import { NeedsYouBadge, StatusIcon, statusNames } from '@/components/status';
import { useDnd } from '@/lib/dnd';
import { useKeptScroll } from '@/lib/kept';
import { setPref } from '@/lib/prefs';
import { IconButton } from '@/ui/Button';
import { cx } from '@/ui/cx';
import { BoardCard } from './BoardCard';
import { cardOf, useBoard } from './context';

/** The height of the window that is not available for a column's cards, in px: the content above them. */
const aroundColumn = 104;

/** useColumnDrop makes an element accept cards. A drop on it sets the card's status. */
export function useColumnDrop(
  ref: RefObject<HTMLElement | null>,
  status: ItemStatus,
  lane?: string | null,
  scrolls = false,
): boolean {
  const [over, setOver] = useState(false);
  const dnd = useDnd();
  useEffect(() => {
    const element = ref.current;
    if (!element || !dnd) return;
    const target = dnd.dropTargetForElements({
      element,
      canDrop: ({ source }) => source.data.type === 'item',
      getData: () => ({ type: 'column', status, lane }),
      onDragEnter: () => setOver(true),
      onDragLeave: () => setOver(false),
      onDrop: () => setOver(false),
    });
    return scrolls ? dnd.combine(target, dnd.autoScrollForElements({ element })) : target;
  }, [dnd, ref, status, lane, scrolls]);
  return over;
}

/** ColumnTitle shows a column's name and its number of items, and has a button to add an item. */
export function ColumnTitle({ status, items }: { status: ItemStatus; items: WorkItem[] }) {
  const board = useBoard();
  const { needsYou } = board.facts;
  const waiting = useMemo(() => items.filter(({ id }) => needsYou.has(id)).length, [items, needsYou]);
  return (
    <header className="group/title flex h-9 items-center gap-2 px-1">
      <StatusIcon status={status} />
      <h2 className="text-sm font-medium">{statusNames[status]}</h2>
      <span className="text-xs text-ink-3 tabular">{items.length}</span>
      {waiting > 0 && <NeedsYouBadge count={waiting} />}
      <span className="ml-auto flex">
        {status === 'cancelled' && (
          <IconButton label="Collapse cancelled" size="sm" onClick={() => setPref('cancelledOpen', false)}>
            <ChevronsLeft className="size-4" />
          </IconButton>
        )}
        <IconButton
          label={`New item in ${statusNames[status]}`}
          size="sm"
          onClick={() => board.create(status)}
        >
          <Plus className="size-4" />
        </IconButton>
      </span>
    </header>
  );
}

/** Column shows one status with its cards. It renders only the visible ones. */
export const Column = memo(function Column({ status, items }: { status: ItemStatus; items: WorkItem[] }) {
  const board = useBoard();
  const scroller = useRef<HTMLDivElement>(null);
  const over = useColumnDrop(scroller, status, undefined, true);
  const { initialOffset, onScroll } = useKeptScroll(status);
  const rows = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    getItemKey: useCallback((index: number) => items[index]?.id ?? index, [items]),
    estimateSize: () => 84,
    gap: 8,
    overscan: 1,
    // Estimates the visible height, so that the first cards are rendered at once. Without it the column is rendered empty
    // and measured first.
    initialRect: { width: 0, height: window.innerHeight - aroundColumn },
    paddingStart: 2,
    paddingEnd: 12,
    initialOffset,
  });
  const { scrollers } = board;
  useEffect(() => {
    scrollers.set(status, (id) =>
      rows.scrollToIndex(
        items.findIndex((item) => item.id === id),
        { align: 'auto' },
      ),
    );
    return () => {
      scrollers.delete(status);
    };
  }, [scrollers, status, rows, items]);

  return (
    <section
      aria-label={`${statusNames[status]}, ${items.length} items`}
      className="flex min-h-0 w-[80vw] shrink-0 snap-center flex-col sm:w-auto sm:min-w-60 sm:flex-1 sm:shrink sm:basis-0"
    >
      <ColumnTitle status={status} items={items} />
      <div
        ref={scroller}
        onScroll={onScroll}
        className={cx(
          '-mx-1 min-h-0 flex-1 overflow-y-auto rounded-lg px-1 transition-colors',
          over && 'bg-accent/8',
        )}
      >
        <ul className="relative" style={{ height: rows.getTotalSize() }}>
          {rows.getVirtualItems().map((row) => {
            const item = items[row.index];
            return (
              item && (
                <li
                  key={row.key}
                  ref={rows.measureElement}
                  data-index={row.index}
                  className="absolute inset-x-0 top-0"
                  style={{ transform: `translateY(${row.start}px)` }}
                >
                  <BoardCard {...cardOf(board, item)} />
                </li>
              )
            );
          })}
        </ul>
        {items.length === 0 && (
          <p
            className={cx(
              'rounded-lg border border-dashed px-3 py-6 text-center text-xs text-ink-3',
              over && 'border-accent text-accent',
            )}
          >
            {over ? 'Drop it here' : 'Nothing here'}
          </p>
        )}
      </div>
    </section>
  );
});

/** Rail is the folded cancelled column: its name and its count. Cards can be dropped on it. */
export function Rail({ count }: { count: number }) {
  const ref = useRef<HTMLButtonElement>(null);
  const over = useColumnDrop(ref, 'cancelled');
  return (
    <button
      ref={ref}
      type="button"
      aria-description="Shows the cancelled items as a column"
      onClick={() => setPref('cancelledOpen', true)}
      className={cx(
        'flex w-9 shrink-0 flex-col items-center gap-3 rounded-lg py-2.5 text-xs text-ink-3 ring-1 ring-line transition-colors ring-inset hover:bg-hover hover:text-ink',
        over && 'bg-accent/8 text-accent ring-accent',
      )}
    >
      <StatusIcon status="cancelled" />
      <span className="tabular">{count}</span>
      <span className="[writing-mode:vertical-rl]">Cancelled</span>
    </button>
  );
}
