import { create } from 'zustand';
import { createJSONStorage, persist } from 'zustand/middleware';
import type { Kind } from '@/api/records';
import { storage } from './storage';

/** Theme is the theme that the user chose. system: the theme of the operating system. */
export type Theme = 'system' | 'dark' | 'light';

/** Prefs are the user's preferences in this browser. The server does not store them. */
interface Prefs {
  theme: Theme;
  /** Slug of the project that was opened last. */
  lastProject: string | null;
  /** Kinds that the board shows; empty: all. */
  levels: Kind[];
  /** Whether the board has a lane for each parent. */
  lanes: boolean;
  /** Whether the board shows cancelled items as a column instead of a rail. */
  cancelledOpen: boolean;
  /** Whether a change is shown with the old version beside the new one, where there is room. */
  splitDiff: boolean;
  /** Whether the browser shows a notification when a run waits for a person or fails. */
  notify: boolean;
  /** Provider and model of the last started run, as defaults of the next form. */
  lastRun: { provider: string; model: string } | null;
}

/** usePrefs reads and stores the preferences. */
export const usePrefs = create<Prefs>()(
  persist(
    (): Prefs => ({
      theme: 'system',
      lastProject: null,
      // Items above tasks have no runs, and items below tasks are shown on the tasks' cards.
      levels: ['task'],
      lanes: false,
      cancelledOpen: false,
      splitDiff: false,
      notify: false,
      lastRun: null,
    }),
    { name: 'svc.prefs', storage: createJSONStorage(() => storage) },
  ),
);

/** setPref changes one preference. */
export function setPref<K extends keyof Prefs>(name: K, value: Prefs[K]): void {
  usePrefs.setState({ [name]: value } as Pick<Prefs, K>);
}

const light = typeof matchMedia === 'undefined' ? null : matchMedia('(prefers-color-scheme: light)');

/** isDark reports whether a choice of theme is dark now. */
export function isDark(theme: Theme): boolean {
  return theme === 'dark' || (theme === 'system' && !light?.matches);
}

/** followTheme keeps the document's theme equal to the chosen theme. */
export function followTheme(): void {
  const apply = (): void => {
    document.documentElement.dataset.theme = isDark(usePrefs.getState().theme) ? 'dark' : 'light';
  };
  apply();
  usePrefs.subscribe(apply);
  light?.addEventListener('change', apply);
}
