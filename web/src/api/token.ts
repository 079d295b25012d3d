import { storage } from '@/lib/storage';

const key = 'svc.token';
const listeners = new Set<() => void>();

/** token is the user's access token as this browser knows it; null: signed out. */
export function token(): string | null {
  return storage.getItem(key);
}

/** setToken signs in, or out with null, in every tab of this browser. */
export function setToken(value: string | null): void {
  if (value === token()) return;
  if (value === null) storage.removeItem(key);
  else storage.setItem(key, value);
  for (const listener of listeners) listener();
}

/** onTokenChange calls back after a sign-in or sign-out, here or in another tab. */
export function onTokenChange(listener: () => void): () => void {
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
