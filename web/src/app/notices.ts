import type { InboxItem } from '@/api/schema.gen';

/** Notice is a notification for a person whose tab does not show the run. */
export interface Notice {
  /** The run it is about; null: several. */
  runId: string | null;
  title: string;
  body: string;
}

const words: Partial<Record<InboxItem['kind'], string>> = { needs_input: 'needs you', failed: 'failed' };

/** keysOf returns the keys of the inbox's entries, to find later which entries are new. */
export const keysOf = (inbox: readonly InboxItem[]): Set<string> => new Set(inbox.map(({ key }) => key));

/** noticesOf returns a notice for each run that needs a person or failed and whose entry is new in the inbox. */
export function noticesOf(before: ReadonlySet<string>, inbox: readonly InboxItem[]): Notice[] {
  return inbox.flatMap(({ key, kind, run_id, title, text }) =>
    run_id && words[kind] && !before.has(key)
      ? [{ runId: run_id, title: `${title} ${words[kind]}`, body: text }]
      : [],
  );
}

// Up to oneByOne runs within this window, in ms, get a notice each. Further ones are combined in a digest.
const window = 30_000;
const oneByOne = 3;
/** How many titles a digest contains. */
const digestTitles = 5;

/** NoticeGrouper combines notices that come in a short time into a digest, as the sinks for notifications do. */
export class NoticeGrouper {
  private singles: number[] = [];
  private digested: { at: number; notice: Notice }[] = [];

  /** next returns the notices to show now. A digest replaces the digest before it and includes its runs. */
  next(fresh: readonly Notice[], now: number): Notice[] {
    this.singles = this.singles.filter((at) => at > now - window);
    this.digested = this.digested.filter(({ at }) => at > now - window);
    if (fresh.length === 0) return [];
    if (this.singles.length + fresh.length <= oneByOne) {
      this.singles.push(...fresh.map(() => now));
      return [...fresh];
    }
    this.digested.push(...fresh.map((notice) => ({ at: now, notice })));
    return [digestOf(this.digested.map(({ notice }) => notice))];
  }
}

/** digestOf combines several notices into one. Of two notices about one run, only the last counts. */
function digestOf(notices: readonly Notice[]): Notice {
  const runs = new Map(notices.map((notice) => [notice.runId, notice]));
  const [only] = runs.values();
  if (only && runs.size === 1) return only;
  const titles = [...runs.values()].slice(0, digestTitles).map(({ title }) => title);
  return { runId: null, title: `${runs.size} runs need you`, body: titles.join('\n') };
}

/** shown reports whether a visible tab shows this run now. Then the tab sends no notification about this run. */
export const shown = (hidden: boolean, pathname: string, runId: string): boolean =>
  !hidden && pathname.replace(/\/$/, '') === `/runs/${runId}`;
