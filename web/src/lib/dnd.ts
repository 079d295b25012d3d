// Dragging, in one chunk that loads after the first sight: until it is there, menus and keys do the same.
import { useEffect, useState } from 'react';

const load = () => import('./dndParts');

/** Dnd is the parts of the drag-and-drop library that the page uses. */
export type Dnd = Awaited<ReturnType<typeof load>>;

let loaded: Dnd | null = null;

/** useDnd is the library once it is there. */
export function useDnd(): Dnd | null {
  const [dnd, setDnd] = useState(loaded);
  useEffect(() => {
    if (loaded) return;
    let wanted = true;
    void load().then((parts) => {
      loaded = parts;
      if (wanted) setDnd(parts);
    });
    return () => {
      wanted = false;
    };
  }, []);
  return dnd;
}
