import { ChevronRight, Ellipsis } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import type { Host, Run } from '@/api/records';
import { ItemMenu } from '@/components/ItemMenu';
import { ItemName } from '@/components/ItemName';
import { RunPill } from '@/components/RunPill';
import { ChildProgress, KindIcon, NeedsYouBadge, StatusIcon, WaitsBadge } from '@/components/status';
import type { MoveItem } from '@/components/useItemMoves';
import type { Progress, TreeRow as Row } from '@/data/board';
import { useDnd } from '@/lib/dnd';
import { IconButton } from '@/ui/Button';
import { Checkbox } from '@/ui/Checkbox';
import { cx } from '@/ui/cx';
import { MenuButton } from '@/ui/MenuButton';
import { type DropZone, zoneOf } from './indent';

interface Props {
  row: Row;
  size: number;
  place: number;
  progress?: Progress;
  /** How many items below it wait for a person. */
  needsBelow?: number;
  /** How many of the items that it needs are not done. Absent: it is not blocked. */
  unmet?: number;
  run?: Run;
  host?: Host;
  move: MoveItem;
  selected: boolean;
  /** Whether the row is selected. */
  picked: boolean;
  /** Whether any row is selected. Then the checkboxes of the other rows are shown. */
  picking: boolean;
  onPick(range: boolean): void;
  tabbable: boolean;
  menuOpen: boolean;
  onMenu(open: boolean): void;
  onToggle(): void;
  onOpen(): void;
  onDelete(): void;
}

/** TreeRow shows one item of the tree. It can be dragged, and other rows can be dropped on it or at its edges. */
export function TreeRow({
  row,
  size,
  place,
  progress,
  needsBelow,
  unmet,
  run,
  host,
  move,
  selected,
  picked,
  picking,
  onPick,
  tabbable,
  menuOpen,
  onMenu,
  onToggle,
  onOpen,
  onDelete,
}: Props) {
  const { item, depth, children, open } = row;
  const ref = useRef<HTMLDivElement>(null);
  const [zone, setZone] = useState<DropZone | null>(null);
  const [dragging, setDragging] = useState(false);
  const { id } = item;
  const dnd = useDnd();

  useEffect(() => {
    const element = ref.current;
    if (!element || !dnd) return;
    return dnd.combine(
      dnd.draggable({
        element,
        getInitialData: () => ({ type: 'item', id }),
        onDragStart: () => setDragging(true),
        onDrop: () => setDragging(false),
      }),
      dnd.dropTargetForElements({
        element,
        canDrop: ({ source }) => source.data.type === 'item' && source.data.id !== id,
        getData: ({ input }) => {
          const { top, height } = element.getBoundingClientRect();
          return { type: 'row', id, zone: zoneOf(input.clientY, top, height) };
        },
        onDragEnter: ({ self }) => setZone(self.data.zone as DropZone),
        onDrag: ({ self }) => setZone(self.data.zone as DropZone),
        onDragLeave: () => setZone(null),
        onDrop: () => setZone(null),
      }),
    );
  }, [dnd, id]);

  return (
    <div
      ref={ref}
      role="treeitem"
      aria-level={depth + 1}
      aria-setsize={size}
      aria-posinset={place}
      aria-expanded={children > 0 ? open : undefined}
      aria-selected={selected}
      aria-checked={picking ? picked : undefined}
      tabIndex={tabbable ? 0 : -1}
      data-row={id}
      onClick={onOpen}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && event.target === event.currentTarget) onOpen();
      }}
      style={{ paddingLeft: `calc(0.5rem + ${depth} * var(--indent))` }}
      className={cx(
        'group relative flex h-10 cursor-pointer items-center gap-2 rounded-md pr-1.5 text-sm -outline-offset-2 hover:bg-hover',
        (selected || picked) && 'bg-accent/10',
        zone === 'inside' && 'bg-accent/10 ring-2 ring-accent ring-inset',
        dragging && 'opacity-40',
      )}
    >
      <button
        type="button"
        tabIndex={-1}
        aria-hidden
        onClick={(event) => {
          event.stopPropagation();
          onToggle();
        }}
        className={cx(
          'flex size-6 shrink-0 items-center justify-center rounded text-ink-3 hover:text-ink',
          children === 0 && 'invisible',
        )}
      >
        <ChevronRight className={cx('size-4 transition-transform', open && 'rotate-90')} />
      </button>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: it only keeps clicks on the checkbox from opening the row */}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: x selects the row */}
      <span onClick={(event) => event.stopPropagation()} className="relative flex shrink-0">
        <KindIcon kind={item.kind} named className="size-4" />
        <Checkbox
          label={`Select ${item.title}`}
          checked={picked}
          onToggle={onPick}
          tabIndex={-1}
          className={cx(
            'absolute -inset-1',
            !picked &&
              !picking &&
              'opacity-0 group-focus-within:opacity-100 group-hover:opacity-100 pointer-coarse:hidden',
          )}
        />
      </span>
      <span
        className={cx(
          'min-w-0 flex-1 truncate',
          item.kind === 'milestone' && 'font-medium',
          item.status === 'cancelled' && 'text-ink-3 line-through',
        )}
      >
        <ItemName item={item} />
      </span>
      {unmet !== undefined && <WaitsBadge count={unmet} />}
      {needsBelow && <NeedsYouBadge count={needsBelow} />}
      {run && <RunPill run={run} host={host} className={cx(!run.needs_input && 'max-sm:hidden')} />}
      <span className="flex shrink-0 sm:w-12">{progress && <ChildProgress {...progress} />}</span>
      <StatusIcon status={item.status} named />
      {/* biome-ignore lint/a11y/noStaticElementInteractions: it only keeps clicks on the menu from opening the row */}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: keys go to the menu itself */}
      <span
        onClick={(event) => event.stopPropagation()}
        className={cx(
          !menuOpen &&
            'opacity-0 group-focus-within:opacity-100 group-hover:opacity-100 pointer-coarse:opacity-100',
        )}
      >
        <MenuButton
          open={menuOpen}
          onOpenChange={onMenu}
          trigger={(props) => (
            <IconButton {...props} label="Actions" size="sm" tabIndex={-1}>
              <Ellipsis className="size-4" />
            </IconButton>
          )}
          menu={(place) => (
            <ItemMenu {...place} item={item} move={move} onOpen={onOpen} onDelete={onDelete} />
          )}
        />
      </span>
      {(zone === 'before' || zone === 'after') && (
        <span
          aria-hidden
          className={cx(
            'pointer-events-none absolute inset-x-2 h-0.5 rounded-full bg-accent',
            zone === 'before' ? '-top-px' : '-bottom-px',
          )}
        />
      )}
    </div>
  );
}
