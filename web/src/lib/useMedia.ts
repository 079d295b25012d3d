import { useSyncExternalStore } from 'react';

/** useMedia reports whether a media query matches now. */
export function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (listener) => {
      const media = matchMedia(query);
      media.addEventListener('change', listener);
      return () => media.removeEventListener('change', listener);
    },
    () => matchMedia(query).matches,
  );
}

/** phone matches screens on which the navigation is a bar at the bottom. */
export const phone = '(max-width: 639px)';
