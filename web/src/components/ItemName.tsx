import { itemRef, type WorkItem } from '@/api/records';

/** ItemName shows an item's short name and its title. */
export function ItemName({ item }: { item: Pick<WorkItem, 'project_slug' | 'number' | 'title'> }) {
  return (
    <>
      <span className="text-2xs text-ink-3">{itemRef(item)}</span> {item.title}
    </>
  );
}
