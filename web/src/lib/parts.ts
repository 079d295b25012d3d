// Parts of the page are loaded when they are first needed. While the server is away a part waits for it, and the page
// with everything typed into it stays. Only a page that the server no longer has is loaded anew.
import { storage } from './storage';

/** Build is how the page that the server gives compares with the one that runs here; away: there is no answer. */
export type Build = 'away' | 'same' | 'other';

/** Surroundings is what persist asks of the browser. */
export interface Surroundings {
  build(): Promise<Build>;
  /** reload loads the page anew. False: it did so a moment ago, and it did not help. */
  reload(): boolean;
  /** tell says that a part has to wait for the server, or that it cannot be loaded. */
  tell(trouble: Trouble): void;
  pause(ms: number): Promise<void>;
}

/** Trouble is what can be the matter with a part. */
export type Trouble = 'waits' | 'failed';

/** PartError says that a part cannot be loaded into this page any more: browsers remember a script that failed. */
export class PartError extends Error {
  override name = 'PartError';
}

const reloadMark = 'svc.reloaded';
const reloadPause = 60_000;
/** How long a page counts as just loaded, in ms: its server is there, and it is the server's own. */
const justLoaded = 10_000;
const listeners = new Set<(trouble: Trouble) => void>();

/** onTrouble calls back when a part of the page has to wait, or cannot be loaded. */
export function onTrouble(listener: (trouble: Trouble) => void): void {
  listeners.add(listener);
}

const browser: Surroundings = {
  async build() {
    if (performance.now() < justLoaded) return 'same';
    const entry = document.querySelector('script[type="module"][src]')?.getAttribute('src');
    try {
      const answer = await fetch('/', { cache: 'no-store' });
      if (!answer.ok) return 'away';
      return !entry || (await answer.text()).includes(entry) ? 'same' : 'other';
    } catch {
      return 'away';
    }
  },
  reload() {
    if (Date.now() - Number(storage.getItem(reloadMark) ?? 0) < reloadPause) return false;
    storage.setItem(reloadMark, String(Date.now()));
    location.reload();
    return true;
  },
  tell(trouble) {
    for (const listener of listeners) listener(trouble);
  },
  pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};

/**
 * persist loads a part of the page when the server is there, however long that takes. It asks the server first: a
 * script that failed once is never asked for again by the same document.
 */
export async function persist<T>(load: () => Promise<T>, around: Surroundings = browser): Promise<T> {
  for (let tries = 0; ; tries++) {
    const build = await around.build();
    if (build === 'other' && around.reload()) return new Promise(() => {}); // this document is about to end
    if (build !== 'away') break;
    if (tries === 0) around.tell('waits');
    await around.pause(Math.min(4000, 500 * 2 ** tries));
  }
  try {
    return await load();
  } catch (cause) {
    around.tell('failed');
    throw new PartError('a part of the page could not be loaded', { cause });
  }
}
