import { useSyncExternalStore } from 'react';
import { dark, light, type Palette } from './palette';

function subscribe(listener: () => void): () => void {
  const observer = new MutationObserver(listener);
  observer.observe(document.documentElement, { attributeFilter: ['data-theme'] });
  return () => observer.disconnect();
}

/** usePalette returns the palette of the current theme. */
export function usePalette(): Palette {
  return useSyncExternalStore(subscribe, () =>
    document.documentElement.dataset.theme === 'light' ? light : dark,
  );
}
