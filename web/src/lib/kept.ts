import { useLocation } from '@tanstack/react-router';
import { type UIEvent, useCallback, useRef, useState } from 'react';

// What a page remembers for whoever comes back to it, by entry of the browser's history.
const kept = new Map<string, unknown>();
const most = 500;

function keep(key: string, value: unknown): void {
  kept.delete(key);
  kept.set(key, value);
  if (kept.size > most) kept.delete(kept.keys().next().value as string);
}

/** useKeyOf is the name of something on this page, different for each entry of the history. */
function useKeyOf(name: string): { current: string } {
  const entry = useLocation({ select: ({ state }) => state.__TSR_key ?? '' });
  const key = useRef('');
  key.current = `${entry} ${name}`;
  return key;
}

/** useKept is a state that is still there after Back. */
export function useKept<T>(name: string, initial: T): [T, (value: T) => void] {
  const key = useKeyOf(name);
  const [value, setValue] = useState<T>(() =>
    kept.has(key.current) ? (kept.get(key.current) as T) : initial,
  );
  const set = useCallback(
    (next: T) => {
      keep(key.current, next);
      setValue(next);
    },
    [key],
  );
  return [value, set];
}

/** useKeptScroll is where a list begins, which after Back is where it was left, and what notes where it is. */
export function useKeptScroll(name: string): { initialOffset: number; onScroll(event: UIEvent): void } {
  const key = useKeyOf(`scroll ${name}`);
  const [initialOffset] = useState(() => (kept.get(key.current) as number | undefined) ?? 0);
  const onScroll = useCallback(
    ({ currentTarget }: UIEvent) => keep(key.current, currentTarget.scrollTop),
    [key],
  );
  return { initialOffset, onScroll };
}
