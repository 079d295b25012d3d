import { type RefObject, useEffect, useState, useSyncExternalStore } from 'react';

const onVisibility = (changed: () => void): (() => void) => {
  document.addEventListener('visibilitychange', changed);
  return () => document.removeEventListener('visibilitychange', changed);
};

/** useInSight reports whether an element is visible now: it is scrolled into view, and the tab is shown. */
export function useInSight(ref: RefObject<Element | null>): boolean {
  const [near, setNear] = useState(false);
  const shown = useSyncExternalStore(onVisibility, () => document.visibilityState !== 'hidden');
  useEffect(() => {
    if (!ref.current) return;
    const observer = new IntersectionObserver((entries) => setNear(entries.at(-1)?.isIntersecting ?? false));
    observer.observe(ref.current);
    return () => observer.disconnect();
  }, [ref]);
  return near && shown;
}
