import { X } from 'lucide-react';
import { type ReactNode, useEffect, useRef } from 'react';
import { count } from '@/lib/count';
import { focusIfLost, rowSelector } from '@/lib/focus';
import type { Selection } from '@/lib/selection';
import { useShortcuts } from '@/lib/shortcuts';
import { Button, IconButton } from '@/ui/Button';

/**
 * SelectionBar is the bar below a list with a selection. It shows the number of selected rows and the actions on them.
 */
export function SelectionBar({
  selection,
  total,
  children,
}: {
  selection: Selection;
  /** How many rows the list has. */
  total: number;
  children: ReactNode;
}) {
  const { ids, all, clear } = selection;
  useShortcuts({ Escape: clear });
  const first = useRef(ids[0]);
  first.current = ids[0];
  // When the bar disappears, its focused button disappears too. The focus then returns to the first selected row.
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
