import { useCallback, useState } from 'react';
import { storage } from './storage';

/** Draft is an unsaved text, stored in this browser until it is saved or discarded. */
export interface Draft {
  text: string;
  /** The saved text on which the draft is based. */
  base: string;
  /** When it was changed last, in ms since the epoch. */
  at: number;
}

const prefix = 'svc.draft.';
const index = 'svc.drafts';
/** How many drafts are stored; the oldest are removed first. */
const most = 40;

function parsed<T>(text: string | null, otherwise: T): T {
  try {
    return text === null ? otherwise : (JSON.parse(text) as T);
  } catch {
    return otherwise;
  }
}

/** readDraft returns the draft under a key; null: there is none. */
export const readDraft = (key: string): Draft | null =>
  parsed<Draft | null>(storage.getItem(prefix + key), null);

function note(key: string, kept: boolean): void {
  const others = parsed<string[]>(storage.getItem(index), []).filter((each) => each !== key);
  const keys = kept ? [...others, key] : others;
  for (const old of keys.splice(0, keys.length - most)) storage.removeItem(prefix + old);
  storage.setItem(index, JSON.stringify(keys));
}

/** writeDraft stores a draft. A text that equals its base is no draft: then the stored draft is removed. */
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

/** dropDraft removes a draft. */
export function dropDraft(key: string): void {
  storage.removeItem(prefix + key);
  note(key, false);
}

/**
 * useDraft returns the draft under a key. It outlives the form, the tab and the sign-in: only saving or discarding
 * removes it.
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
