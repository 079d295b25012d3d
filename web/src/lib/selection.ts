import { useMemo, useRef, useState } from 'react';
import { useShortcuts } from './shortcuts';

/** Selection is what someone picked from a list, to do one thing to all of it. */
export interface Selection {
  /** In the order of the list. What has left the list is no longer in it. */
  ids: readonly string[];
  has(id: string): boolean;
  /** toggle selects one, or no longer. As a range, everything from the one before it is selected too. */
  toggle(id: string, range?: boolean): void;
  /** all selects the whole list. */
  all(): void;
  clear(): void;
}

/** useSelection keeps a selection over a list of ids. toggle, all and clear stay the same functions. */
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

/** useSelectKey lets x select the row that has the focus. Rows say with data-row which they are. */
export function useSelectKey({ toggle }: Selection): void {
  useShortcuts({
    x: ({ target }) => {
      const id = (target as Element).closest<HTMLElement>('[data-row]')?.dataset.row;
      if (id) toggle(id);
    },
  });
}
