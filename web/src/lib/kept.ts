import { useRouter } from '@tanstack/react-router';
import { type UIEvent, useCallback, useState } from 'react';

// State that a page restores after Back, by entry of the browser's history.
const kept = new Map<string, unknown>();
const most = 500;

function keep(key: string, value: unknown): void {
  kept.delete(key);
  kept.set(key, value);
  if (kept.size > most) kept.delete(kept.keys().next().value as string);
}

/**
 * useKeyOf returns a function that returns a key for a name on this page, different for each entry of the history. It is
 * a function because a component that subscribes to the address is rendered again with every letter typed into a filter.
 */
function useKeyOf(name: string): () => string {
  const router = useRouter();
  return useCallback(() => `${router.state.location.state.__TSR_key ?? ''} ${name}`, [router, name]);
}

/** useKept is useState, but the value is restored after Back. */
export function useKept<T>(name: string, initial: T): [T, (value: T) => void] {
  const key = useKeyOf(name);
  const [value, setValue] = useState<T>(() => (kept.has(key()) ? (kept.get(key()) as T) : initial));
  const set = useCallback(
    (next: T) => {
      keep(key(), next);
      setValue(next);
    },
    [key],
  );
  return [value, set];
}

/** useKeptScroll returns a list's first scroll offset (after Back, the last one) and a handler that stores the offset. */
export function useKeptScroll(name: string): { initialOffset: number; onScroll(event: UIEvent): void } {
  const key = useKeyOf(`scroll ${name}`);
  const [initialOffset] = useState(() => (kept.get(key()) as number | undefined) ?? 0);
  const onScroll = useCallback(({ currentTarget }: UIEvent) => keep(key(), currentTarget.scrollTop), [key]);
  return { initialOffset, onScroll };
}
