import { useQuery } from '@tanstack/react-query';
import { Plus, X } from 'lucide-react';
import { useId, useState } from 'react';
import { messageOf } from '@/api/error';
import { itemRef, type WorkItem } from '@/api/records';
import { useChangeNeed } from '@/data/actions';
import { isWithin } from '@/data/board';
import { workItemsQuery } from '@/data/queries';
import { useMay } from '@/data/role';
import { Badge } from '@/ui/Badge';
import { Button, IconButton } from '@/ui/Button';
import { Input } from '@/ui/Field';
import { ItemName } from './ItemName';
import { StatusIcon } from './status';

/** How many items a search for a need shows. */
const mostOffers = 6;

/**
 * ItemNeeds lists the items that an item needs before its runs start, and the items that need it. Both can be edited.
 */
export function ItemNeeds({ item, onOpen }: { item: WorkItem; onOpen(id: string): void }) {
  const { data: items = [] } = useQuery(workItemsQuery(item.project_id));
  const [adding, setAdding] = useState(false);
  const change = useChangeNeed(item);
  const may = useMay('operator') !== false;
  const needs = item.needs
    .map((id) => items.find((other) => other.id === id))
    .filter((each) => each !== undefined);
  const neededBy = items.filter((other) => other.needs.includes(item.id));
  const set = (other: WorkItem, needed: boolean): void =>
    change.mutate({ other: other.id, needed }, { onSuccess: () => setAdding(false) });
  return (
    <section aria-label="Needs" className="flex flex-col gap-2">
      <div className="flex items-center gap-2">
        <h2 className="text-sm font-semibold">Needs</h2>
        {item.blocked && <Badge tone="warn">blocked</Badge>}
        {may && (
          <Button
            size="sm"
            variant="ghost"
            icon={<Plus className="size-3.5" />}
            aria-expanded={adding}
            onClick={() => setAdding(!adding)}
            className="ml-auto"
          >
            Add a need
          </Button>
        )}
      </div>
      {adding && (
        <NeedSearch item={item} items={items} busy={change.isPending} onPick={(other) => set(other, true)} />
      )}
      {change.error && (
        <p role="alert" className="text-sm text-bad">
          {messageOf(change.error)}
        </p>
      )}
      {needs.length === 0 ? (
        <p className="text-sm text-ink-3">
          {item.blocked
            ? 'An item above it needs others that are not done.'
            : 'Nothing: its runs start as soon as a host takes them.'}
        </p>
      ) : (
        <Items
          label="It needs"
          items={needs}
          onOpen={onOpen}
          onRemove={may ? (other) => set(other, false) : undefined}
        />
      )}
      {neededBy.length > 0 && (
        <>
          <h3 className="text-xs font-medium text-ink-3">Needed by</h3>
          <Items label="Needed by" items={neededBy} onOpen={onOpen} />
        </>
      )}
    </section>
  );
}

function Items({
  label,
  items,
  onOpen,
  onRemove,
}: {
  label: string;
  items: WorkItem[];
  onOpen(id: string): void;
  onRemove?(item: WorkItem): void;
}) {
  return (
    <ul aria-label={label} className="overflow-hidden rounded-xl bg-panel ring-1 ring-line ring-inset">
      {items.map((other) => (
        <li key={other.id} className="flex items-center border-b pr-1.5 last:border-0">
          <button
            type="button"
            onClick={() => onOpen(other.id)}
            className="flex min-w-0 flex-1 items-center gap-2.5 px-3 py-2 text-left text-sm hover:bg-hover"
          >
            <StatusIcon status={other.status} named />
            <span className="min-w-0 flex-1 truncate">
              <ItemName item={other} />
            </span>
          </button>
          {onRemove && (
            <IconButton label={`No longer need ${other.title}`} size="sm" onClick={() => onRemove(other)}>
              <X className="size-4" />
            </IconButton>
          )}
        </li>
      ))}
    </ul>
  );
}

/** offersOf returns the items that match a search and that the item can need. The server refuses cycles. */
export function offersOf(items: readonly WorkItem[], item: WorkItem, search: string): WorkItem[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return items.filter((other) => {
    if (isWithin(other, item) || isWithin(item, other) || item.needs.includes(other.id)) return false;
    const text = `${itemRef(other)} ${other.title}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** NeedSearch searches for an item to add to the needs. */
function NeedSearch({
  item,
  items,
  busy,
  onPick,
}: {
  item: WorkItem;
  items: readonly WorkItem[];
  busy: boolean;
  onPick(other: WorkItem): void;
}) {
  const [search, setSearch] = useState('');
  const [at, setAt] = useState(0);
  const list = useId();
  const found = offersOf(items, item, search);
  const offers = found.slice(0, mostOffers);
  const current = Math.min(at, offers.length - 1);
  return (
    <div className="flex flex-col gap-1.5 rounded-xl p-2 ring-1 ring-line ring-inset">
      <Input
        autoFocus
        role="combobox"
        aria-label="Search for what it needs"
        aria-expanded={offers.length > 0}
        aria-controls={list}
        aria-activedescendant={offers[current] && `${list}-${current}`}
        placeholder="Title or number"
        value={search}
        onChange={(event) => {
          setSearch(event.target.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
          if (step !== 0) {
            event.preventDefault();
            setAt(Math.max(0, Math.min(offers.length - 1, current + step)));
          } else if (event.key === 'Enter' && offers[current] && !busy) {
            event.preventDefault();
            onPick(offers[current]);
          }
        }}
      />
      <div id={list} role="listbox" aria-label="Items that it may need" className="flex flex-col">
        {offers.map((other, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys of the field above choose it
          // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the field above
          <div
            key={other.id}
            id={`${list}-${index}`}
            role="option"
            aria-selected={index === current}
            onClick={() => !busy && onPick(other)}
            className="flex cursor-pointer items-center gap-2.5 rounded-md px-2 py-1.5 text-sm hover:bg-hover aria-selected:bg-hover"
          >
            <StatusIcon status={other.status} named />
            <span className="min-w-0 flex-1 truncate">
              <ItemName item={other} />
            </span>
          </div>
        ))}
      </div>
      <p role="status" className="px-2 text-xs text-ink-3">
        {found.length === 0
          ? 'No other item of this project fits.'
          : found.length > offers.length && `${found.length - offers.length} more fit.`}
      </p>
    </div>
  );
}
