import { useEffect, useRef } from 'react';
import { tinykeys } from 'tinykeys';

/** isTyping reports whether the focused element uses the keys itself: a field or a terminal. */
export function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof Element &&
    target.closest(
      'input:not([type="checkbox"]), textarea, select, [contenteditable="true"], [data-terminal], .xterm',
    ) !== null
  );
}

/** Bindings are actions by key, in tinykeys' notation: "c", "g b", "$mod+k". */
export type Bindings = Record<string, (event: KeyboardEvent) => void>;

/** isAttached reports whether the page shows an attached terminal, which receives every key. */
const isAttached = (): boolean => document.querySelector('[data-attached]') !== null;

/**
 * useShortcuts binds keys for as long as the component is mounted. The bindings are inactive while the user types in a
 * field, while a dialog or a menu is open, and for keys that an inner element has already handled. All bindings are
 * inactive while a terminal is attached, wherever the focus is.
 */
export function useShortcuts(bindings: Bindings, { everywhere = false } = {}): void {
  const latest = useRef(bindings);
  latest.current = bindings;
  const names = Object.keys(bindings).join(',');
  useEffect(() => {
    const guarded: Bindings = {};
    for (const key of names.split(',')) {
      guarded[key] = (event) => {
        if (event.defaultPrevented || isAttached()) return;
        if (
          !everywhere &&
          (isTyping(event.target) || document.querySelector('[role="dialog"][data-modal], [role="menu"]'))
        )
          return;
        event.preventDefault();
        latest.current[key]?.(event);
      };
    }
    return tinykeys(window, guarded);
  }, [names, everywhere]);
}
