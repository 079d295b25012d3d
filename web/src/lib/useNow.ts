import { useSyncExternalStore } from 'react';

const step = 5000;
let now = Date.now();
let timer = 0;
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  if (timer === 0) {
    timer = window.setInterval(() => {
      now = Date.now();
      for (const each of listeners) each();
    }, step);
  }
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) {
      window.clearInterval(timer);
      timer = 0;
    }
  };
}

/** useNow returns the time in ms, updated every five seconds. All components share one timer. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}
