import { useQuery } from '@tanstack/react-query';
import { Plus } from 'lucide-react';
import type { WorkItem } from '@/api/records';
import { workItemsQuery } from '@/data/queries';
import { Button } from '@/ui/Button';
import { ItemName } from './ItemName';
import { childKind, openNewItem } from './newItem';
import { ChildProgress, KindIcon, StatusIcon } from './status';

/** ItemChildren lists the direct children of an item. */
export function ItemChildren({ item, onOpen }: { item: WorkItem; onOpen(id: string): void }) {
  const { data: items = [] } = useQuery(workItemsQuery(item.project_id));
  const children = items.filter((other) => other.parent_id === item.id);
  const counted = children.filter((child) => child.status !== 'cancelled');
  return (
    <section aria-label="Children" className="flex flex-col gap-2">
      <div className="flex items-center gap-2">
        <h2 className="text-sm font-semibold">Children</h2>
        {counted.length > 0 && (
          <ChildProgress
            done={counted.filter((child) => child.status === 'done').length}
            total={counted.length}
          />
        )}
        <Button
          variant="ghost"
          size="sm"
          icon={<Plus className="size-3.5" />}
          onClick={() =>
            openNewItem({ project_id: item.project_id, parent_id: item.id, kind: childKind(item.kind) })
          }
          className="ml-auto"
        >
          Add
        </Button>
      </div>
      {children.length > 0 && (
        <ul className="overflow-hidden rounded-xl bg-panel ring-1 ring-line ring-inset">
          {children.map((child) => (
            <li key={child.id} className="border-b last:border-0">
              <button
                type="button"
                onClick={() => onOpen(child.id)}
                className="flex w-full items-center gap-2.5 px-3 py-2 text-left text-sm hover:bg-hover"
              >
                <StatusIcon status={child.status} named />
                <KindIcon kind={child.kind} named />
                <span className="min-w-0 flex-1 truncate">
                  <ItemName item={child} />
                </span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
