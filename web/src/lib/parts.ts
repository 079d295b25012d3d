// Parts of the page load when they are first needed. While the server cannot be reached, a part waits; the page and all
// text typed into it stay. The page is reloaded only if the server has a different build of it.
import { storage } from './storage';

/** Build is how the server's page compares with the page that runs here. away: the server did not answer. */
export type Build = 'away' | 'same' | 'other';

/** Surroundings is the part of the browser that persist uses. */
export interface Surroundings {
  build(): Promise<Build>;
  /** reload reloads the page. False: the page was reloaded a moment ago and that did not help. */
  reload(): boolean;
  /** report reports that a part must wait for the server, or cannot be loaded. */
  report(trouble: Trouble): void;
  pause(ms: number): Promise<void>;
}

/** Trouble is a problem with loading a part. */
export type Trouble = 'waits' | 'failed';

/** PartError reports that a part can no longer be loaded into this document: browsers cache the failure of a script. */
export class PartError extends Error {
  override name = 'PartError';
}

const reloadMark = 'svc.reloaded';
const reloadPause = 60_000;
/** How long after its load, in ms, a page counts as up to date, without asking the server. */
const justLoaded = 10_000;
const listeners = new Set<(trouble: Trouble) => void>();

/** onTrouble adds a listener that is called when a part of the page has to wait, or cannot be loaded. */
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
  report(trouble) {
    for (const listener of listeners) listener(trouble);
  },
  pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};

/**
 * persist loads a part of the page, and waits as long as the server cannot be reached. It first checks that the server
 * answers, because a document never requests a script again after it failed once.
 */
export async function persist<T>(load: () => Promise<T>, around: Surroundings = browser): Promise<T> {
  for (let tries = 0; ; tries++) {
    const build = await around.build();
    if (build === 'other' && around.reload()) return new Promise(() => {}); // this document is about to end
    if (build !== 'away') break;
    if (tries === 0) around.report('waits');
    await around.pause(Math.min(4000, 500 * 2 ** tries));
  }
  try {
    return await load();
  } catch (cause) {
    around.report('failed');
    throw new PartError('a part of the page could not be loaded', { cause });
  }
}
