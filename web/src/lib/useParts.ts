import { startTransition, useEffect, useState } from 'react';

/**
 * useParts is how many of a list's entries to draw: a part of them at once, then the others, a part after each frame. So
 * what is in sight comes first, input is answered in between, and in the end all is there to be found and selected.
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
