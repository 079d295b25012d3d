import { type RefCallback, useCallback, useState } from 'react';

/**
 * useRoom reports whether an element is at least as wide as width, in px. Set the ref on it. Known before the first
 * paint.
 */
export function useRoom(width: number): [RefCallback<HTMLElement>, boolean] {
  const [roomy, setRoomy] = useState(false);
  const ref = useCallback(
    (element: HTMLElement | null) => {
      if (!element) return;
      setRoomy(element.clientWidth >= width);
      const watch = new ResizeObserver(([entry]) => {
        if (entry) setRoomy(entry.contentRect.width >= width);
      });
      watch.observe(element);
      return () => watch.disconnect();
    },
    [width],
  );
  return [ref, roomy];
}
