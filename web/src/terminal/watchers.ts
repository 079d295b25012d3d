// Who sees a run's terminal, in words.

/** Watcher is someone who sees the terminal. */
export interface Watcher {
  /** The name of their token. */
  name: string;
  /** attached: on the shared terminal; live: sees the screen alone. */
  mode: 'attached' | 'live';
  /** Whether they have the keyboard. */
  holds: boolean;
  /** Whether it is this very page. */
  you: boolean;
  since: string;
}

/** Watchers is everyone who sees the terminal, in the order in which they came; more of them are only counted. */
export interface Watchers {
  people: Watcher[];
  more: number;
}

/** How many people are named before the others are counted. */
const mostNamed = 3;

/** typistOf is the name of whoever else types; null: nobody does; undefined: this page does. */
export function typistOf({ people }: Watchers): string | null | undefined {
  const holder = people.find(({ holds }) => holds);
  return holder?.you ? undefined : (holder?.name ?? null);
}

/** countOf is how many people there are, each counted once. */
export function countOf({ people, more }: Watchers): number {
  return new Set(people.map(({ name }) => name)).size + more;
}

/** watchWords says who watches, such as "Ben and Carl watch"; empty when nobody else is there. */
export function watchWords(watchers: Watchers): string {
  const words = wordsOf(watchers);
  return words.startsWith('you ') ? `Y${words.slice(1)}` : words;
}

/** sentenceOf says who types and who watches, for someone who hears it. */
export function sentenceOf(watchers: Watchers): string {
  const words = wordsOf(watchers);
  if (words === '') return 'Nobody else is here';
  const typist = typistOf(watchers);
  return `${typist === undefined ? 'You type' : typist === null ? 'Nobody types' : `${typist} types`}, ${words}`;
}

function wordsOf({ people, more }: Watchers): string {
  const you = people.find((one) => one.you);
  const holder = people.find(({ holds }) => holds);
  // A person with several windows is named once, for the most that they do.
  const others = new Set(people.map(({ name }) => name));
  if (you) others.delete(you.name);
  if (holder) others.delete(holder.name);
  if (others.size + more === 0 && (!you || you.holds || !holder)) return '';
  const names = [...(you && !you.holds ? ['you'] : []), ...others];
  const named = names.slice(0, mostNamed);
  const rest = names.length - named.length + more;
  if (rest > 0) named.push(`${rest} more`);
  const last = named.pop() ?? '';
  const verb = named.length === 0 && last !== 'you' && rest <= 1 ? 'watches' : 'watch';
  return `${named.length ? `${named.join(', ')} and ` : ''}${last} ${verb}`;
}
