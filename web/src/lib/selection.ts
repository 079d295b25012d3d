import { useMemo, useRef, useState } from 'react';
import { useShortcuts } from './shortcuts';

/** Selection is the set of entries of a list that the user selected for one bulk action. */
export interface Selection {
  /** In the order of the list. Entries that left the list are not included. */
  ids: readonly string[];
  has(id: string): boolean;
  /** toggle selects or deselects an entry. As a range, it also selects all entries from the one toggled before. */
  toggle(id: string, range?: boolean): void;
  /** all selects the whole list. */
  all(): void;
  clear(): void;
}

/** useSelection keeps a selection over a list of ids. The functions toggle, all and clear never change identity. */
export function useSelection(order: readonly string[]): Selection {
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set());
  const latest = useRef(order);
  latest.current = order;
  const last = useRef<string | null>(null);
  const [actions] = useState(() => ({
    toggle: (id: string, range = false): void => {
      const from = range ? latest.current.indexOf(last.current ?? '') : -1;
      const to = latest.current.indexOf(id);
      last.current = id;
      setPicked((now) => {
        const next = new Set(now);
        if (from >= 0) {
          for (const each of latest.current.slice(Math.min(from, to), Math.max(from, to) + 1)) next.add(each);
        } else if (!next.delete(id)) next.add(id);
        return next;
      });
    },
    all: (): void => setPicked(new Set(latest.current)),
    clear: (): void => setPicked((now) => (now.size === 0 ? now : new Set())),
  }));
  return useMemo(() => {
    const ids = picked.size === 0 ? [] : order.filter((id) => picked.has(id));
    const held = new Set(ids);
    return { ids, has: (id) => held.has(id), ...actions };
  }, [picked, order, actions]);
}

/** useSelectKey binds x to selecting the focused row. A row has its id in data-row. */
export function useSelectKey({ toggle }: Selection): void {
  useShortcuts({
    x: ({ target }) => {
      const id = (target as Element).closest<HTMLElement>('[data-row]')?.dataset.row;
      if (id) toggle(id);
    },
  });
}
