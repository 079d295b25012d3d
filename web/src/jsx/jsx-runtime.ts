import * as react from 'react/jsx-runtime';
import { visible } from '@/lib/visible';

// The page's own JSX runtime. It passes every text that the page shows through visible(), so that no name, title or
// message can hide or reorder the text around it. Text in an input is a value, not a child, and stays unchanged.

export type { JSX } from 'react';
export { Fragment } from 'react/jsx-runtime';

type Props = Record<string, unknown>;

/** shown returns the props of an element with its texts passed through visible(). */
export function shown(props: Props): Props {
  let changed: Props | undefined;
  for (const name of ['children', 'title', 'aria-label', 'alt']) {
    const before = props[name];
    const after = Array.isArray(before)
      ? texts(before)
      : typeof before === 'string'
        ? visible(before)
        : before;
    if (after !== before) changed = { ...(changed ?? props), [name]: after };
  }
  return changed ?? props;
}

function texts(children: unknown[]): unknown[] {
  const after = children.map((child) => (typeof child === 'string' ? visible(child) : child));
  return after.some((child, i) => child !== children[i]) ? after : children;
}

export const jsx: typeof react.jsx = (type, props, key) => react.jsx(type, shown(props as Props), key);
export const jsxs: typeof react.jsxs = (type, props, key) => react.jsxs(type, shown(props as Props), key);
