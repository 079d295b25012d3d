// Finds the palette's results for the typed text. All functions are pure.
import { type Host, isRunnable, itemRef, type Run, taskRef, type WorkItem } from '@/api/records';
import { canAttach } from '@/components/runState';

/** Verb is an action that is typed before the name of its object. */
export type Verb = 'start' | 'queue' | 'stop' | 'attach';

/** verbs lists the verbs in the order in which the palette shows them. */
export const verbs: readonly { verb: Verb; label: string }[] = [
  { verb: 'start', label: 'Start a run of…' },
  { verb: 'queue', label: 'Queue a run of…' },
  { verb: 'attach', label: 'Attach to…' },
  { verb: 'stop', label: 'Stop…' },
];

/** parse splits the typed text into a verb, if it begins with one, and the words to find. */
export function parse(typed: string): { verb: Verb | null; words: string } {
  const [first = '', ...rest] = typed.trimStart().split(/\s+/);
  const verb = verbs.find((each) => each.verb === first.toLowerCase())?.verb;
  if (!verb || !/\s/.test(typed.trimStart())) return { verb: null, words: typed.trim() };
  return { verb, words: rest.join(' ').trim() };
}

/** The minimal number of an id's first characters that finds it. */
const shortestId = 4;

/** fits reports whether a text contains every word, or the words are the beginning of an id. */
export function fits(words: string, text: string, id = ''): boolean {
  const wanted = words.toLowerCase();
  if (wanted.length >= shortestId && id.startsWith(wanted)) return true;
  const all = text.toLowerCase();
  return wanted.split(/\s+/).every((word) => all.includes(word));
}

/** byNumber reports whether words are the number or the short name of an item: 12, #12 or shop-12. */
const byNumber = (words: string, item: { project_slug: string; number: number }): boolean =>
  words.replace(/^#/, '') === String(item.number) || words.toLowerCase() === itemRef(item).toLowerCase();

/** exactFirst moves exact matches to the front and keeps the order of the others. */
function exactFirst<T>(found: T[], exact: (one: T) => boolean): T[] {
  return [...found.filter(exact), ...found.filter((one) => !exact(one))];
}

/** findItems returns the work items that match, those of the open project first. */
export function findItems(
  items: readonly WorkItem[],
  words: string,
  verb: Verb | null,
  projectId: string | undefined,
): WorkItem[] {
  if (verb === 'stop' || verb === 'attach') return [];
  const found = items.filter(
    (item) => (verb === null || isRunnable(item)) && fits(words, `${itemRef(item)} ${item.title}`, item.id),
  );
  const near = exactFirst(found, (item) => item.project_id === projectId);
  return exactFirst(near, (item) => byNumber(words, item));
}

/** findRuns returns the runs that match and that the verb can be applied to. */
export function findRuns(
  runs: readonly Run[],
  hosts: ReadonlyMap<string, Host>,
  words: string,
  verb: Verb | null,
): Run[] {
  if (verb === 'start' || verb === 'queue') return [];
  const found = runs.filter(
    (run) =>
      (verb !== 'stop' || ['pending', 'spawning', 'running'].includes(run.status)) &&
      (verb !== 'attach' || canAttach(run, hosts.get(run.host_id ?? ''))) &&
      fits(words, `${taskRef(run)} ${run.task_title} ${run.session_name} ${run.provider}`, run.id),
  );
  return exactFirst(found, (run) =>
    byNumber(words, { project_slug: run.project_slug, number: run.task_number }),
  );
}

/** findHosts returns the hosts whose name or label matches. With a verb there are none. */
export function findHosts(hosts: readonly Host[], words: string, verb: Verb | null): Host[] {
  if (verb) return [];
  return hosts.filter((host) => {
    const labels = Object.entries(host.labels).map(([name, value]) => `${name}=${value}`);
    return fits(words, [host.name, ...labels].join(' '), host.id);
  });
}
