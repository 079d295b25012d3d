import { storage } from '@/lib/storage';

// The secret of a sign-in is a cookie that no script can read. What is kept here is a mark that there was one: it
// tells the tabs of this browser from each other's sign-ins and opens nothing.
const key = 'svc.session';
const legacyKey = 'svc.token';
const listeners = new Set<() => void>();

/** session is the mark of this browser's sign-in; null: signed out. */
export function session(): string | null {
  return storage.getItem(key);
}

/** noteSession marks a sign-in, or with null a sign-out, in every tab of this browser. */
export function noteSession(mark: string | null): void {
  if (mark === session()) return;
  if (mark === null) storage.removeItem(key);
  else storage.setItem(key, mark);
  for (const listener of listeners) listener();
}

/** onSessionChange calls back after a sign-in or sign-out, here or in another tab. */
export function onSessionChange(listener: () => void): () => void {
  const other = (event: StorageEvent): void => {
    if (event.key === key) listener();
  };
  listeners.add(listener);
  window.addEventListener('storage', other);
  return () => {
    listeners.delete(listener);
    window.removeEventListener('storage', other);
  };
}

/** takeTokenFromHash reads #token=… of the printed link. Null: the link has none. */
export function takeTokenFromHash(hash: string): string | null {
  const found = new URLSearchParams(hash.replace(/^#/, '')).get('token');
  return found?.trim() || null;
}

/** takeLegacyToken removes the token that an older version of this page kept. Null: there is none. */
export function takeLegacyToken(): string | null {
  const found = storage.getItem(legacyKey);
  if (found !== null) storage.removeItem(legacyKey);
  return found;
}
