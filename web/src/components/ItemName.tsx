import { itemRef, type WorkItem } from '@/api/records';

/** ItemName is an item as people speak of it: its short name, then its title. */
export function ItemName({ item }: { item: Pick<WorkItem, 'project_slug' | 'number' | 'title'> }) {
  return (
    <>
      <span className="text-2xs text-ink-3">{itemRef(item)}</span> {item.title}
    </>
  );
}
