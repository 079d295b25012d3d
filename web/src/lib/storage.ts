// Storage that a browser may refuse (private windows, blocked site data). The page then works for as
// long as the tab lives.
const memory = new Map<string, string>();

/** storage is localStorage where there is one, and the tab's memory otherwise. */
export const storage = {
  getItem(key: string): string | null {
    try {
      return localStorage.getItem(key) ?? memory.get(key) ?? null;
    } catch {
      return memory.get(key) ?? null;
    }
  },
  setItem(key: string, value: string): void {
    memory.set(key, value);
    try {
      localStorage.setItem(key, value);
    } catch {
      // kept in memory
    }
  },
  removeItem(key: string): void {
    memory.delete(key);
    try {
      localStorage.removeItem(key);
    } catch {
      // it was only in memory
    }
  },
};
