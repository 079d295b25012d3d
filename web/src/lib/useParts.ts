import { startTransition, useEffect, useState } from 'react';

/**
 * useParts returns how many entries of a list to render: first one part, then one more part after each frame. So the
 * visible entries come first, the page handles input in between, and in the end all entries can be found and selected.
 */
export function useParts(total: number, part: number): number {
  const [drawn, setDrawn] = useState(part);
  useEffect(() => {
    if (drawn >= total) return;
    const frame = requestAnimationFrame(() => startTransition(() => setDrawn(drawn + part)));
    return () => cancelAnimationFrame(frame);
  }, [drawn, total, part]);
  return Math.min(drawn, total);
}
