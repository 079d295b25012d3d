import { create } from 'zustand';
import { createJSONStorage, persist } from 'zustand/middleware';
import type { Kind } from '@/api/records';
import { storage } from './storage';

/** Theme is what the user chose; system follows the machine. */
export type Theme = 'system' | 'dark' | 'light';

/** Prefs is what this browser remembers about its user. Nothing of it is on the server. */
interface Prefs {
  theme: Theme;
  /** Slug of the project that was open last. */
  lastProject: string | null;
  /** Kinds that the board shows; empty: all. */
  levels: Kind[];
  /** Whether the board has a lane for each parent. */
  lanes: boolean;
  /** Whether the board shows cancelled items as a column instead of a rail. */
  cancelledOpen: boolean;
  /** Whether a change is shown with the old version beside the new one, where there is room. */
  splitDiff: boolean;
  /** Whether the browser tells when a run needs someone. */
  notify: boolean;
  /** What the last run was started with, so that the next form begins there. */
  lastRun: { provider: string; model: string } | null;
}

/** usePrefs reads and keeps the preferences. */
export const usePrefs = create<Prefs>()(
  persist(
    (): Prefs => ({
      theme: 'system',
      lastProject: null,
      // What is above tasks has no runs, and what is below them is seen on their cards.
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

/** isDark says which theme a choice gives now. */
export function isDark(theme: Theme): boolean {
  return theme === 'dark' || (theme === 'system' && !light?.matches);
}

/** followTheme keeps the document in the chosen theme. */
export function followTheme(): void {
  const apply = (): void => {
    document.documentElement.dataset.theme = isDark(usePrefs.getState().theme) ? 'dark' : 'light';
  };
  apply();
  usePrefs.subscribe(apply);
  light?.addEventListener('change', apply);
}
