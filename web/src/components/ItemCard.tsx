import type { Ref } from 'react';
import { type Host, isActive, type Run, type WorkItem } from '@/api/records';
import type { Progress } from '@/data/board';
import { lazily } from '@/lib/lazily';
import { IconButton } from '@/ui/Button';
import { Checkbox } from '@/ui/Checkbox';
import { cx } from '@/ui/cx';
import { Glyph } from '@/ui/Glyph';
import { MenuButton } from '@/ui/MenuButton';
import { Counts } from './Counts';
import { ItemName } from './ItemName';
import { RunPill } from './RunPill';
import { ChildProgress, KindIcon, NeedsYouBadge, WaitsBadge } from './status';
import type { MoveItem } from './useItemMoves';

const ItemMenu = lazily(async () => (await import('./ItemMenu')).ItemMenu);

/** CardFacts has the facts that a card shows in addition to its item. */
export interface CardFacts {
  parent?: WorkItem;
  progress?: Progress;
  /** How many items below it wait for a person. */
  needsBelow?: number;
  /** How many of the items that it needs are not done. Absent: it is not blocked. */
  unmet?: number;
  run?: Run;
  host?: Host;
  /** The size of the change in its run's working copy. */
  change?: { files: number; additions: number; deletions: number };
}

/** ItemCard shows a work item on the board. */
export function ItemCard({
  item,
  parent,
  progress,
  needsBelow = 0,
  unmet,
  run,
  host,
  change,
  move,
  open,
  selected,
  selecting,
  onToggle,
  tabbable,
  draggable,
  dragging,
  menuOpen,
  onMenu,
  onOpen,
  onDelete,
  ref,
}: CardFacts & {
  item: WorkItem;
  move: MoveItem;
  /** Whether its sheet is open. */
  open: boolean;
  selected: boolean;
  /** Whether any card is selected. Then the checkboxes of the other cards are shown. */
  selecting: boolean;
  onToggle(range: boolean): void;
  tabbable: boolean;
  draggable: boolean;
  dragging: boolean;
  menuOpen: boolean;
  onMenu(open: boolean): void;
  onOpen(): void;
  onDelete(): void;
  ref?: Ref<HTMLElement>;
}) {
  const needsYou = run !== undefined && isActive(run) && run.needs_input;
  return (
    <article
      ref={ref}
      data-card={item.id}
      draggable={draggable}
      className={cx(
        'group relative rounded-lg bg-panel shadow-1 ring-1 transition-[box-shadow,opacity] dark:bg-raised',
        open || selected
          ? 'ring-2 ring-accent'
          : needsYou || needsBelow > 0
            ? 'ring-warn/70'
            : 'ring-line hover:ring-line-strong',
        dragging && 'opacity-40',
      )}
    >
      <button
        type="button"
        data-card-focus={item.id}
        tabIndex={tabbable ? 0 : -1}
        onClick={(event) => {
          if (event.ctrlKey || event.metaKey || event.shiftKey) onToggle(event.shiftKey);
          else onOpen();
        }}
        className="flex w-full cursor-pointer flex-col gap-2 rounded-lg p-3 text-left"
      >
        {parent && (
          <span className="flex max-w-full items-center gap-1 pr-6 text-2xs text-ink-3">
            <KindIcon kind={parent.kind} className="size-3" />
            <span className="truncate">{parent.title}</span>
          </span>
        )}
        <span className={cx('flex gap-2 text-sm leading-5', !parent && 'pr-6')}>
          <KindIcon kind={item.kind} named className="mt-[3px]" />
          <span
            className={cx(
              'line-clamp-3 min-w-0 break-words',
              item.status === 'cancelled' && 'text-ink-3 line-through',
            )}
          >
            <ItemName item={item} />
          </span>
        </span>
        {(run || progress || needsBelow > 0 || unmet !== undefined) && (
          <span className="flex flex-wrap items-center gap-2">
            {run && <RunPill run={run} host={host} />}
            {progress && <ChildProgress {...progress} />}
            {change && change.files > 0 && <Counts {...change} className="text-2xs" />}
            {unmet !== undefined && <WaitsBadge count={unmet} />}
            {needsBelow > 0 && <NeedsYouBadge count={needsBelow} />}
            {run && host && <span className="ml-auto truncate text-2xs text-ink-3">{host.name}</span>}
          </span>
        )}
        {needsYou && run?.progress_message && (
          <span className="line-clamp-2 border-l-2 border-warn pl-2 text-xs text-ink-2">
            {run.progress_message}
          </span>
        )}
      </button>
      <Checkbox
        label={`Select ${item.title}`}
        checked={selected}
        onToggle={onToggle}
        tabIndex={-1}
        className={cx(
          'absolute left-[7px]',
          parent ? 'top-[34px]' : 'top-2.5',
          !selected &&
            !selecting &&
            'opacity-0 group-focus-within:opacity-100 group-hover:opacity-100 pointer-coarse:hidden',
        )}
      />
      <div
        className={cx(
          'absolute top-1.5 right-1.5 transition-opacity',
          !menuOpen &&
            'opacity-0 group-focus-within:opacity-100 group-hover:opacity-100 pointer-coarse:opacity-100',
        )}
      >
        <MenuButton
          open={menuOpen}
          onOpenChange={onMenu}
          trigger={(props) => (
            <IconButton {...props} label="Actions" size="sm" tabIndex={-1} className="size-6">
              <Glyph shape="ellipsis" className="size-4" />
            </IconButton>
          )}
          menu={(place) => (
            <ItemMenu
              {...place}
              item={item}
              move={move}
              onOpen={onOpen}
              onSelect={() => onToggle(false)}
              selected={selected}
              onDelete={onDelete}
            />
          )}
        />
      </div>
    </article>
  );
}
