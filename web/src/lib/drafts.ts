import { useCallback, useState } from 'react';
import { storage } from './storage';

/** Draft is a text that someone is writing, kept in this browser until it is saved or dropped. */
export interface Draft {
  text: string;
  /** What it was written on top of. */
  base: string;
  /** When it was changed last, in ms since the epoch. */
  at: number;
}

const prefix = 'svc.draft.';
const index = 'svc.drafts';
/** How many are kept; the oldest go first. */
const most = 40;

function parsed<T>(text: string | null, otherwise: T): T {
  try {
    return text === null ? otherwise : (JSON.parse(text) as T);
  } catch {
    return otherwise;
  }
}

/** readDraft is what was kept under a key; null: nothing. */
export const readDraft = (key: string): Draft | null =>
  parsed<Draft | null>(storage.getItem(prefix + key), null);

function note(key: string, kept: boolean): void {
  const others = parsed<string[]>(storage.getItem(index), []).filter((each) => each !== key);
  const keys = kept ? [...others, key] : others;
  for (const old of keys.splice(0, keys.length - most)) storage.removeItem(prefix + old);
  storage.setItem(index, JSON.stringify(keys));
}

/** writeDraft keeps a draft. One that says what it was written on top of is none. */
export function writeDraft(key: string, text: string, base: string): Draft | null {
  if (text === base) {
    dropDraft(key);
    return null;
  }
  const draft = { text, base, at: Date.now() };
  storage.setItem(prefix + key, JSON.stringify(draft));
  note(key, true);
  return draft;
}

/** dropDraft forgets a draft. */
export function dropDraft(key: string): void {
  storage.removeItem(prefix + key);
  note(key, false);
}

/**
 * useDraft is the draft under a key. It outlives the form, the tab and the sign-in: only saving and dropping end it.
 */
export function useDraft(key: string) {
  const [draft, setDraft] = useState(() => readDraft(key));
  const write = useCallback((text: string, base: string) => setDraft(writeDraft(key, text, base)), [key]);
  const drop = useCallback(() => {
    dropDraft(key);
    setDraft(null);
  }, [key]);
  return { draft, write, drop };
}
