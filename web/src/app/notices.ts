import type { InboxItem } from '@/api/schema.gen';

/** Notice is what a person is told who looks elsewhere. */
export interface Notice {
  /** The run it is about; null: several. */
  runId: string | null;
  title: string;
  body: string;
}

const words: Partial<Record<InboxItem['kind'], string>> = { needs_input: 'needs you', failed: 'failed' };

/** keysOf remembers what stands in the inbox, to find out later what is new. */
export const keysOf = (inbox: readonly InboxItem[]): Set<string> => new Set(inbox.map(({ key }) => key));

/** noticesOf tells which runs came to need someone, or failed, since the inbox was remembered. */
export function noticesOf(before: ReadonlySet<string>, inbox: readonly InboxItem[]): Notice[] {
  return inbox.flatMap(({ key, kind, run_id, title, text }) =>
    run_id && words[kind] && !before.has(key)
      ? [{ runId: run_id, title: `${title} ${words[kind]}`, body: text }]
      : [],
  );
}

// In this time, in ms, so many runs are told of one by one; what comes beyond them goes into one digest.
const window = 30_000;
const oneByOne = 3;
/** How many titles a digest has. */
const digestSays = 5;

/** Teller gathers what comes in a short time into a digest, as the notifications of sinks are. */
export class Teller {
  private singles: number[] = [];
  private digested: { at: number; notice: Notice }[] = [];

  /** next is what is to be told now. A digest takes the place of the one before it, and counts what that one counted. */
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

/** digestOf is one notice for several; of a run that has two, the last one counts. */
function digestOf(notices: readonly Notice[]): Notice {
  const runs = new Map(notices.map((notice) => [notice.runId, notice]));
  const [only] = runs.values();
  if (only && runs.size === 1) return only;
  const titles = [...runs.values()].slice(0, digestSays).map(({ title }) => title);
  return { runId: null, title: `${runs.size} runs need you`, body: titles.join('\n') };
}

/** shown reports whether a tab shows a run to somebody now: it need not tell of that run, but of every other one. */
export const shown = (hidden: boolean, pathname: string, runId: string): boolean =>
  !hidden && pathname.replace(/\/$/, '') === `/runs/${runId}`;
