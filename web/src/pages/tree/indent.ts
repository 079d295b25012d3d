import type { WorkItem } from '@/api/records';
import { childrenOf, isWithin } from '@/data/board';
import type { Move } from '@/data/moves';

/** siblingsOf returns the items with the same parent, including the item itself, by position. */
function siblingsOf(items: readonly WorkItem[], item: WorkItem): WorkItem[] {
  const children = childrenOf(items);
  for (const list of children.values()) if (list.some((other) => other.id === item.id)) return list;
  return [];
}

/** indent makes an item the last child of the sibling above it. Null: there is no sibling above. */
export function indent(items: readonly WorkItem[], item: WorkItem): Move | null {
  const siblings = siblingsOf(items, item);
  const above = siblings[siblings.findIndex((other) => other.id === item.id) - 1];
  if (!above) return null;
  const last = (childrenOf(items).get(above.id) ?? []).at(-1);
  return last ? { parent_id: above.id, after: last.id } : { parent_id: above.id };
}

/** outdent puts an item directly after its parent, on the parent's level. Null: the item has no parent. */
export function outdent(items: readonly WorkItem[], item: WorkItem): Move | null {
  const parent = items.find((other) => other.id === item.parent_id);
  return parent ? { parent_id: parent.parent_id, after: parent.id } : null;
}

/** nudge moves an item past its sibling above (-1) or below (1). Null: there is no such sibling. */
export function nudge(items: readonly WorkItem[], item: WorkItem, step: -1 | 1): Move | null {
  const siblings = siblingsOf(items, item);
  const other = siblings[siblings.findIndex((each) => each.id === item.id) + step];
  if (!other) return null;
  return step < 0 ? { before: other.id } : { after: other.id };
}

/** DropZone is the part of a row that receives a drop: its upper edge, its lower edge, or its middle. */
export type DropZone = 'before' | 'after' | 'inside';

/**
 * zoneOf returns the zone at a pointer position: a quarter of the row's height at each edge; the rest is the middle.
 */
export function zoneOf(y: number, top: number, height: number): DropZone {
  const part = (y - top) / height;
  return part < 0.25 ? 'before' : part > 0.75 ? 'after' : 'inside';
}

/** dropOn returns the move for a drop on another row. Null: the target is the item itself or below it. */
export function dropOn(
  items: readonly WorkItem[],
  item: WorkItem,
  target: WorkItem,
  zone: DropZone,
): Move | null {
  if (isWithin(target, item)) return null;
  if (zone === 'inside') {
    const last = (childrenOf(items).get(target.id) ?? []).filter((child) => child.id !== item.id).at(-1);
    return last ? { parent_id: target.id, after: last.id } : { parent_id: target.id };
  }
  return { parent_id: target.parent_id, [zone]: target.id };
}
