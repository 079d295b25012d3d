import { useVirtualizer } from '@tanstack/react-virtual';
import { Plus } from 'lucide-react';
import { useCallback, useEffect, useMemo, useRef } from 'react';
import type { ItemStatus, WorkItem } from '@/api/records';
import { ChildProgress, KindIcon } from '@/components/status';
import { type Columns, type Lane, type LaneRow, laneRows } from '@/data/board';
import { useDnd } from '@/lib/dnd';
import { IconButton } from '@/ui/Button';
import { cx } from '@/ui/cx';
import { BoardCard } from './BoardCard';
import { ColumnTitle, useColumnDrop } from './Column';
import { cardOf, useBoard } from './context';

/** Lanes shows the board with a lane for each parent. A drop in another lane also changes the parent. */
export function Lanes({
  lanes,
  columns,
  statuses,
}: {
  lanes: Lane[];
  columns: Columns;
  statuses: ItemStatus[];
}) {
  const { scrollers } = useBoard();
  const scroller = useRef<HTMLDivElement>(null);
  const lines = useMemo(() => laneRows(lanes, statuses), [lanes, statuses]);
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    getItemKey: useCallback((index: number) => keyOf(lines[index], index), [lines]),
    estimateSize: (index) => (lines[index]?.type === 'title' ? 40 : 92),
    overscan: 6,
    paddingEnd: 16,
  });
  const dnd = useDnd();
  useEffect(
    () => (scroller.current ? dnd?.autoScrollForElements({ element: scroller.current }) : undefined),
    [dnd],
  );
  useEffect(() => {
    scrollers.set('lanes', (id) =>
      rows.scrollToIndex(
        lines.findIndex(
          (line) =>
            line.type === 'cards' &&
            statuses.some((status) => line.lane.columns[status][line.index]?.id === id),
        ),
        { align: 'auto' },
      ),
    );
    return () => {
      scrollers.delete('lanes');
    };
  }, [scrollers, rows, lines, statuses]);

  const grid = { gridTemplateColumns: `repeat(${statuses.length}, minmax(15rem, 1fr))` };
  return (
    <div ref={scroller} className="min-h-0 flex-1 overflow-auto">
      <div className="min-w-fit">
        <div className="sticky top-0 z-10 grid gap-3 bg-canvas" style={grid}>
          {statuses.map((status) => (
            <ColumnTitle key={status} status={status} items={columns[status]} />
          ))}
        </div>
        <div className="relative" style={{ height: rows.getTotalSize() }}>
          {rows.getVirtualItems().map((row) => {
            const line = lines[row.index];
            return (
              line && (
                <div
                  key={row.key}
                  ref={rows.measureElement}
                  data-index={row.index}
                  className="absolute inset-x-0 top-0"
                  style={{ transform: `translateY(${row.start}px)` }}
                >
                  {line.type === 'title' ? (
                    <LaneTitle lane={line.lane} />
                  ) : (
                    <div className="grid gap-3" style={grid}>
                      {statuses.map((status) => (
                        <Cell
                          key={status}
                          status={status}
                          lane={line.lane.parent?.id ?? null}
                          item={line.lane.columns[status][line.index]}
                        />
                      ))}
                    </div>
                  )}
                </div>
              )
            );
          })}
        </div>
      </div>
    </div>
  );
}

function keyOf(line: LaneRow | undefined, index: number): string {
  if (!line) return String(index);
  const lane = line.lane.parent?.id ?? 'none';
  return line.type === 'title' ? lane : `${lane}/${line.index}`;
}

function LaneTitle({ lane: { parent, count } }: { lane: Lane }) {
  const board = useBoard();
  const progress = parent && board.facts.progress.get(parent.id);
  return (
    <div className="sticky left-0 mt-2 flex h-8 w-fit max-w-full items-center gap-2 px-1 text-sm">
      {parent ? (
        <button
          type="button"
          onClick={() => board.actions.open(parent.id)}
          className="flex min-w-0 items-center gap-2 rounded font-medium hover:text-accent"
        >
          <KindIcon kind={parent.kind} />
          <span className="truncate">{parent.title}</span>
        </button>
      ) : (
        <span className="font-medium text-ink-2">Without a parent</span>
      )}
      {progress ? (
        <ChildProgress {...progress} />
      ) : (
        <span className="text-xs text-ink-3 tabular">{count}</span>
      )}
      <IconButton
        label={parent ? `New item under ${parent.title}` : 'New item without a parent'}
        size="sm"
        onClick={() => board.create('todo', parent)}
      >
        <Plus className="size-3.5" />
      </IconButton>
    </div>
  );
}

function Cell({
  status,
  lane,
  item,
}: {
  status: ItemStatus;
  lane: string | null;
  item: WorkItem | undefined;
}) {
  const ref = useRef<HTMLDivElement>(null);
  const over = useColumnDrop(ref, status, lane);
  const board = useBoard();
  return (
    <div ref={ref} className={cx('min-h-12 rounded-lg px-0.5 py-1 transition-colors', over && 'bg-accent/8')}>
      {item && <BoardCard {...cardOf(board, item, lane)} />}
    </div>
  );
}
