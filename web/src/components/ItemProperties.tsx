import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { messageOf } from '@/api/error';
import {
  type Confidence,
  type ItemStatus,
  isRunnable,
  itemStatuses,
  type Kind,
  kinds,
  type WorkItem,
} from '@/api/records';
import type { PatchWorkItem } from '@/api/schema.gen';
import { useUpdateItem } from '@/data/actions';
import { isWithin } from '@/data/board';
import { workItemsQuery } from '@/data/queries';
import { Select, Switch } from '@/ui/Field';
import { toast } from '@/ui/toast';
import { kindNames, statusNames } from './status';
import type { MoveItem } from './useItemMoves';

const confidences: Confidence[] = ['certain', 'likely', 'unsure'];
/** How many parents the list contains at most. Above that, the tree is used to change an item's parent. */
const mostParents = 500;

/** ItemProperties edits the fields of an item whose values are chosen from lists. */
export function ItemProperties({ item, move }: { item: WorkItem; move: MoveItem }) {
  const update = useUpdateItem();
  const { data: items = [] } = useQuery(workItemsQuery(item.project_id));
  const change = (patch: PatchWorkItem): void =>
    update.mutate({ id: item.id, patch }, { onError: (error) => toast.error(messageOf(error)) });
  const parents = items
    .filter(
      (other) =>
        (kinds.indexOf(other.kind) < kinds.indexOf(item.kind) || other.id === item.parent_id) &&
        !isWithin(other, item),
    )
    .slice(0, mostParents);
  return (
    <section
      aria-label="Properties"
      className="flex flex-col gap-4 rounded-xl bg-sunken p-4 ring-1 ring-line ring-inset"
    >
      <div className="grid grid-cols-2 gap-x-4 gap-y-3 sm:grid-cols-3">
        <Property label="Status">
          {(label) => (
            <Select
              aria-label={label}
              value={item.status}
              onChange={(event) => {
                const status = event.target.value as ItemStatus;
                void move(item, { status }, `“${item.title}” is in ${statusNames[status]}`);
              }}
            >
              {itemStatuses.map((status) => (
                <option key={status} value={status}>
                  {statusNames[status]}
                </option>
              ))}
            </Select>
          )}
        </Property>
        <Property label="Kind">
          {(label) => (
            <Select
              aria-label={label}
              value={item.kind}
              onChange={(event) => change({ kind: event.target.value as Kind })}
            >
              {kinds.map((kind) => (
                <option key={kind} value={kind}>
                  {kindNames[kind]}
                </option>
              ))}
            </Select>
          )}
        </Property>
        <Property label="Under">
          {(label) => (
            <Select
              aria-label={label}
              value={item.parent_id ?? ''}
              onChange={(event) =>
                void move(item, { parent_id: event.target.value || null }, `“${item.title}” has a new parent`)
              }
            >
              <option value="">The project itself</option>
              {parents.map((parent) => (
                <option key={parent.id} value={parent.id}>
                  {parent.title}
                </option>
              ))}
            </Select>
          )}
        </Property>
        {item.status === 'done' && item.status_source === 'manual' && (
          <Property label="Marked done, how sure">
            {(label) => (
              <Select
                aria-label={label}
                value={item.confidence ?? 'certain'}
                onChange={(event) => change({ status: 'done', confidence: event.target.value as Confidence })}
              >
                {confidences.map((each) => (
                  <option key={each} value={each}>
                    {each[0]?.toUpperCase() + each.slice(1)}
                  </option>
                ))}
              </Select>
            )}
          </Property>
        )}
      </div>
      {item.status === 'done' && item.status_source === 'signal' && (
        <p className="text-xs text-ink-3">Done because a run reported its completion.</p>
      )}
      {isRunnable(item) && (
        <Switch
          label="Mark done when a run reports completion"
          hint="Otherwise only people move this item."
          checked={item.auto_mark_done}
          onChange={(auto_mark_done) => change({ auto_mark_done })}
        />
      )}
    </section>
  );
}

function Property({ label, children }: { label: string; children(label: string): ReactNode }) {
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <span aria-hidden className="text-xs text-ink-3">
        {label}
      </span>
      {children(label)}
    </div>
  );
}
