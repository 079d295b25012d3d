import { useQuery } from '@tanstack/react-query';
import type { WorkItem } from '@/api/records';
import { workItemsQuery } from '@/data/queries';
import { Badge } from '@/ui/Badge';
import { ItemName } from './ItemName';
import { StatusIcon } from './status';

/** ItemNeeds lists what must be done before runs of an item start; nothing when it needs nothing. */
export function ItemNeeds({ item, onOpen }: { item: WorkItem; onOpen(id: string): void }) {
  const { data: items = [] } = useQuery(workItemsQuery(item.project_id));
  const needs = item.needs
    .map((id) => items.find((other) => other.id === id))
    .filter((each) => each !== undefined);
  if (needs.length === 0 && !item.blocked) return null;
  return (
    <section aria-label="Needs" className="flex flex-col gap-2">
      <div className="flex items-center gap-2">
        <h2 className="text-sm font-semibold">Needs</h2>
        {item.blocked && <Badge tone="warn">blocked</Badge>}
      </div>
      {needs.length === 0 ? (
        <p className="text-sm text-ink-3">An item above it needs others that are not done.</p>
      ) : (
        <ul className="overflow-hidden rounded-xl bg-panel ring-1 ring-line ring-inset">
          {needs.map((other) => (
            <li key={other.id} className="border-b last:border-0">
              <button
                type="button"
                onClick={() => onOpen(other.id)}
                className="flex w-full items-center gap-2.5 px-3 py-2 text-left text-sm hover:bg-hover"
              >
                <StatusIcon status={other.status} named />
                <span className="min-w-0 flex-1 truncate">
                  <ItemName item={other} />
                </span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
