// Drag and drop, in one chunk that loads after the first paint. Until it has loaded, menus and keys do the same.
import { useEffect, useState } from 'react';

const load = () => import('./dndParts');

/** Dnd contains the parts of the drag-and-drop library that the page uses. */
export type Dnd = Awaited<ReturnType<typeof load>>;

let loaded: Dnd | null = null;

/** useDnd returns the library, or null until it has loaded. */
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
