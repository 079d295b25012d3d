import { storage } from '@/lib/storage';

// The secret of a sign-in is a cookie that no script can read. This key stores only a mark that a sign-in exists. The
// mark lets the tabs of this browser tell one sign-in from another. It grants no access.
const key = 'svc.session';
const legacyKey = 'svc.token';
const listeners = new Set<() => void>();

/** session returns the mark of this browser's sign-in; null: signed out. */
export function session(): string | null {
  return storage.getItem(key);
}

/** noteSession stores a mark for a sign-in, or null for a sign-out. It takes effect in every tab of this browser. */
export function noteSession(mark: string | null): void {
  if (mark === session()) return;
  if (mark === null) storage.removeItem(key);
  else storage.setItem(key, mark);
  for (const listener of listeners) listener();
}

/**
 * onSessionChange calls the listener after a sign-in or sign-out in this or another tab. It returns a function that
 * removes the listener.
 */
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

/** takeTokenFromHash returns the token from the #token=… of the link that svc prints. Null: the link has none. */
export function takeTokenFromHash(hash: string): string | null {
  const found = new URLSearchParams(hash.replace(/^#/, '')).get('token');
  return found?.trim() || null;
}

/** takeLegacyToken removes and returns the token that an older version of this page stored. Null: there is none. */
export function takeLegacyToken(): string | null {
  const found = storage.getItem(legacyKey);
  if (found !== null) storage.removeItem(legacyKey);
  return found;
}
