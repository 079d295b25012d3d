import { defaultRangeExtractor, useVirtualizer } from '@tanstack/react-virtual';
import { type RefObject, useLayoutEffect, useRef, useState } from 'react';
import type { Host, Run } from '@/api/records';
import type { Palette } from '@/terminal/palette';
import { Tile } from './Tile';

/** The minimal width of a tile, its height, and the gap between two tiles, in px. */
const least = 384;
const height = 288;
const gap = 12;

/** Tiles shows as many tiles per row as there is room for. It renders only the visible rows. */
export function Tiles({
  runs,
  hosts,
  palette,
  onOpen,
  scrolled,
  kept,
}: {
  runs: readonly Run[];
  hosts: ReadonlyMap<string, Host>;
  palette: Palette;
  onOpen(id: string): void;
  /** The wall's scroll offset. It starts there and stores each change here. */
  scrolled: RefObject<number>;
  /** A run whose tile is rendered even when it is out of view, so that the focus can return to it. Null: none. */
  kept: string | null;
}) {
  const scroller = useRef<HTMLDivElement>(null);
  const columns = useColumns(scroller);
  const row = (index: number): number => Math.floor(index / columns);
  const place = kept === null ? -1 : runs.findIndex((run) => run.id === kept);
  const rows = useVirtualizer({
    count: Math.ceil(runs.length / columns),
    getScrollElement: () => scroller.current,
    estimateSize: () => height,
    gap,
    overscan: 1,
    paddingStart: 20,
    paddingEnd: 20,
    initialOffset: scrolled.current,
    rangeExtractor: (range) => {
      const shown = defaultRangeExtractor(range);
      return place < 0 || shown.includes(row(place)) ? shown : [...shown, row(place)].sort((a, b) => a - b);
    },
  });
  return (
    <div
      ref={scroller}
      onScroll={(event) => {
        scrolled.current = event.currentTarget.scrollTop;
      }}
      className="min-h-0 flex-1 overflow-y-auto px-4 sm:px-5"
    >
      <ul
        aria-label="Runs at work, those that need you first"
        className="relative"
        style={{ height: rows.getTotalSize() }}
      >
        {rows.getVirtualItems().flatMap(({ index, start }) =>
          runs.slice(index * columns, (index + 1) * columns).map((run, column) => (
            <li
              key={run.id}
              data-tile={run.id}
              className="absolute"
              style={{
                top: start,
                left: `calc((100% + ${gap}px) / ${columns} * ${column})`,
                width: `calc((100% + ${gap}px) / ${columns} - ${gap}px)`,
              }}
            >
              <Tile run={run} host={hosts.get(run.host_id ?? '')} palette={palette} onOpen={onOpen} />
            </li>
          )),
        )}
      </ul>
    </div>
  );
}

/** useColumns returns how many tiles fit side by side into an element. It is known before the first paint. */
function useColumns(box: RefObject<HTMLElement | null>): number {
  const [columns, setColumns] = useState(1);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const count = (): void => {
      const { paddingLeft, paddingRight } = getComputedStyle(element);
      const room = element.clientWidth - Number.parseFloat(paddingLeft) - Number.parseFloat(paddingRight);
      setColumns(Math.max(1, Math.floor((room + gap) / (least + gap))));
    };
    count();
    const watch = new ResizeObserver(count);
    watch.observe(element);
    return () => watch.disconnect();
  }, [box]);
  return columns;
}
