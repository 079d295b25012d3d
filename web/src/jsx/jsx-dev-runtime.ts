import * as react from 'react/jsx-dev-runtime';
import { shown } from './jsx-runtime';

// The same runtime for development and tests.

export type { JSX } from 'react';
export { Fragment } from 'react/jsx-dev-runtime';

type JsxDEV = (type: unknown, props: Record<string, unknown>, ...rest: unknown[]) => unknown;

export const jsxDEV: JsxDEV = (type, props, ...rest) =>
  (react as unknown as { jsxDEV: JsxDEV }).jsxDEV(type, shown(props), ...rest);
