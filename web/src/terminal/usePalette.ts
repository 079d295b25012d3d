import { useSyncExternalStore } from 'react';
import { dark, light, type Palette } from './palette';

function subscribe(listener: () => void): () => void {
  const observer = new MutationObserver(listener);
  observer.observe(document.documentElement, { attributeFilter: ['data-theme'] });
  return () => observer.disconnect();
}

/** usePalette is the palette of the theme that is shown. */
export function usePalette(): Palette {
  return useSyncExternalStore(subscribe, () =>
    document.documentElement.dataset.theme === 'light' ? light : dark,
  );
}
