import type { InboxItem } from '@/api/schema.gen';

/** Notice is what a person is told who looks elsewhere. */
export interface Notice {
  runId: string;
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

/** shown says whether a tab shows a run to somebody now: it need not tell of that run, but of every other one. */
export const shown = (hidden: boolean, pathname: string, runId: string): boolean =>
  !hidden && pathname.replace(/\/$/, '') === `/runs/${runId}`;
