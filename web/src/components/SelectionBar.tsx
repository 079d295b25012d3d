import { X } from 'lucide-react';
import { type ReactNode, useEffect, useRef } from 'react';
import { count } from '@/lib/count';
import { focusIfLost, rowSelector } from '@/lib/focus';
import type { Selection } from '@/lib/selection';
import { useShortcuts } from '@/lib/shortcuts';
import { Button, IconButton } from '@/ui/Button';

/** SelectionBar stands below a list of which something is selected: how much it is, and what can be done to all of it. */
export function SelectionBar({
  selection,
  total,
  children,
}: {
  selection: Selection;
  /** How many the list shows. */
  total: number;
  children: ReactNode;
}) {
  const { ids, all, clear } = selection;
  useShortcuts({ Escape: clear });
  const first = useRef(ids[0]);
  first.current = ids[0];
  // The bar goes, and what was pressed on it: whoever has only the keyboard goes on where the selection began.
  useEffect(() => () => focusIfLost(rowSelector(first.current ?? '')), []);
  return (
    <section
      aria-label="Selection"
      className="flex flex-wrap items-center gap-x-3 gap-y-2 border-t bg-raised px-4 py-2 sm:px-5"
    >
      <span role="status" className="text-sm font-medium tabular">
        {ids.length} selected
      </span>
      {ids.length < total && (
        <Button size="sm" variant="ghost" onClick={all}>
          Select all {count(total)} shown
        </Button>
      )}
      <div className="ml-auto flex flex-wrap items-center gap-1.5">
        {children}
        <IconButton label="Clear the selection" shortcut="Esc" size="sm" onClick={clear}>
          <X className="size-4" />
        </IconButton>
      </div>
    </section>
  );
}
