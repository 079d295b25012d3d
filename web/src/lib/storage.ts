// Storage that a browser may refuse (private windows, blocked site data). The page then works until the tab is closed.
// Only values that the browser refused are kept in memory: a second copy of the others would survive after another tab
// removes them.
const memory = new Map<string, string>();

/** storage is localStorage if the browser allows it, and the tab's memory otherwise. */
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
      // the value was only in memory
    }
  },
};
