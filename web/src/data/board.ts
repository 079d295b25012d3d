// Arranges a project's items for the board and the tree. All functions are pure.
import { type ItemStatus, itemStatuses, type Kind, type WorkItem } from '@/api/records';

/** Columns are the items of each status, by position. */
export type Columns = Record<ItemStatus, WorkItem[]>;

/** BoardFilter selects what the board shows: some levels (empty: all) and titles that contain all words. */
export interface BoardFilter {
  levels: readonly Kind[];
  words: string;
}

/** visible returns the items that match a filter. */
export function visible(items: readonly WorkItem[], { levels, words }: BoardFilter): readonly WorkItem[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  if (levels.length === 0 && wanted.length === 0) return items;
  return items.filter(
    (item) =>
      (levels.length === 0 || levels.includes(item.kind)) &&
      wanted.every((word) => item.title.toLowerCase().includes(word)),
  );
}

const nobody: ReadonlySet<string> = new Set();

/** columnsOf sorts items into the board's columns. Items that wait for a person come first. */
export function columnsOf(items: readonly WorkItem[], needsYou = nobody): Columns {
  const columns: Columns = { todo: [], doing: [], done: [], cancelled: [] };
  for (const item of items) if (needsYou.has(item.id)) columns[item.status].push(item);
  for (const item of items) if (!needsYou.has(item.id)) columns[item.status].push(item);
  return columns;
}

/** needsBelow counts, for each item, the items below it that wait for a person. */
export function needsBelow(items: readonly WorkItem[], needsYou: ReadonlySet<string>): Map<string, number> {
  const counts = new Map<string, number>();
  if (needsYou.size === 0) return counts;
  for (const { id, path } of items) {
    if (!needsYou.has(id)) continue;
    for (const above of path.split('/').slice(0, -1)) counts.set(above, (counts.get(above) ?? 0) + 1);
  }
  return counts;
}

/** Progress counts an item's children and those that are done. Cancelled children do not count. */
export interface Progress {
  done: number;
  total: number;
}

/** progressOf returns the progress of every item that has children. */
export function progressOf(items: readonly WorkItem[]): Map<string, Progress> {
  const progress = new Map<string, Progress>();
  for (const { parent_id, status } of items) {
    if (!parent_id || status === 'cancelled') continue;
    const known = progress.get(parent_id);
    const entry = known ?? { done: 0, total: 0 };
    entry.total++;
    if (status === 'done') entry.done++;
    if (!known) progress.set(parent_id, entry);
  }
  return progress;
}

/** Lane contains the items below one parent. parent is null for the items without one. */
export interface Lane {
  parent: WorkItem | null;
  columns: Columns;
  count: number;
}

/** lanesOf groups items by parent, in the order of the parents; items without one come last. */
export function lanesOf(
  all: readonly WorkItem[],
  shown: readonly WorkItem[],
  needsYou: ReadonlySet<string> = nobody,
): Lane[] {
  const byId = new Map(all.map((item) => [item.id, item]));
  const groups = new Map<string | null, WorkItem[]>();
  for (const item of shown) {
    const key = item.parent_id && byId.has(item.parent_id) ? item.parent_id : null;
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  const lane = (key: string | null): Lane | null => {
    const group = groups.get(key);
    return group
      ? {
          parent: key ? (byId.get(key) ?? null) : null,
          columns: columnsOf(group, needsYou),
          count: group.length,
        }
      : null;
  };
  const keys = [...all.filter((item) => groups.has(item.id)).map((item) => item.id), null];
  return keys.map(lane).filter((each) => each !== null);
}

/** LaneRow is a row of the board with lanes: a lane's title, or one card of each column. */
export type LaneRow = { type: 'title'; lane: Lane } | { type: 'cards'; lane: Lane; index: number };

/** laneRows arranges lanes in rows, so that only the visible rows need elements. */
export function laneRows(lanes: readonly Lane[], statuses: readonly ItemStatus[] = itemStatuses): LaneRow[] {
  return lanes.flatMap((lane) => {
    const height = Math.max(1, ...statuses.map((status) => lane.columns[status].length));
    return [
      { type: 'title', lane } satisfies LaneRow,
      ...Array.from({ length: height }, (_, index) => ({ type: 'cards', lane, index }) satisfies LaneRow),
    ];
  });
}

/** TreeRow is one visible row of the tree. */
export interface TreeRow {
  item: WorkItem;
  depth: number;
  children: number;
  open: boolean;
}

/** childrenOf groups items by parent. An item whose parent is not in the list counts as a root (null). */
export function childrenOf(items: readonly WorkItem[]): Map<string | null, WorkItem[]> {
  const ids = new Set(items.map((item) => item.id));
  const children = new Map<string | null, WorkItem[]>();
  for (const item of items) {
    const key = item.parent_id && ids.has(item.parent_id) ? item.parent_id : null;
    const list = children.get(key);
    if (list) list.push(item);
    else children.set(key, [item]);
  }
  return children;
}

/** treeRows returns the tree as rows. Items below a closed item are left out. */
export function treeRows(items: readonly WorkItem[], closed: ReadonlySet<string>): TreeRow[] {
  const children = childrenOf(items);
  const rows: TreeRow[] = [];
  const add = (parent: string | null, depth: number): void => {
    for (const item of children.get(parent) ?? []) {
      const count = children.get(item.id)?.length ?? 0;
      const open = count > 0 && !closed.has(item.id);
      rows.push({ item, depth, children: count, open });
      if (open) add(item.id, depth + 1);
    }
  };
  add(null, 0);
  return rows;
}

/** isWithin reports whether an item is the ancestor itself or lies below it. */
export const isWithin = (item: WorkItem, ancestor: WorkItem): boolean =>
  item.id === ancestor.id || item.path.startsWith(`${ancestor.path}/`);

/**
 * unmet counts the items that a blocked item itself needs and that are not done. Undefined: the item is not blocked,
 * is done, or is cancelled.
 */
export const unmet = (item: WorkItem, byId: ReadonlyMap<string, WorkItem>): number | undefined =>
  item.blocked && item.status !== 'done' && item.status !== 'cancelled'
    ? item.needs.filter((id) => byId.get(id)?.status !== 'done').length
    : undefined;
