// Storage that a browser may refuse (private windows, blocked site data). The page then works for as
// long as the tab lives. Only what was refused is kept in memory: a second copy of the rest would outlive
// what another tab removes.
const memory = new Map<string, string>();

/** storage is localStorage where there is one, and the tab's memory otherwise. */
export const storage = {
  getItem(key: string): string | null {
    try {
      return memory.get(key) ?? localStorage.getItem(key);
    } catch {
      return memory.get(key) ?? null;
    }
  },
  setItem(key: string, value: string): void {
    try {
      localStorage.setItem(key, value);
      memory.delete(key);
    } catch {
      memory.set(key, value);
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
