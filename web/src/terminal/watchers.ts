// Describes in words who sees a run's terminal.

/** Watcher is a person who sees the terminal. */
export interface Watcher {
  /** The name of the person's token. */
  name: string;
  /** attached: uses the shared terminal; live: only sees the screen. */
  mode: 'attached' | 'live';
  /** Whether the person holds the lease, and so has the keyboard. */
  holds: boolean;
  /** Whether this is the page itself. */
  you: boolean;
  since: string;
}

/** Watchers lists the people who see the terminal, in the order in which they came. more counts further people. */
export interface Watchers {
  people: Watcher[];
  more: number;
}

/** How many people are named. The others are only counted. */
const mostNamed = 3;

/** typistOf returns the name of the other person who types. Null: nobody types. Undefined: this page types. */
export function typistOf({ people }: Watchers): string | null | undefined {
  const holder = people.find(({ holds }) => holds);
  return holder?.you ? undefined : (holder?.name ?? null);
}

/** countOf counts the people, each once. */
export function countOf({ people, more }: Watchers): number {
  return new Set(people.map(({ name }) => name)).size + more;
}

/** watchWords describes who watches, such as "Ben and Carl watch". Empty: nobody else sees the terminal. */
export function watchWords(watchers: Watchers): string {
  const words = wordsOf(watchers);
  return words.startsWith('you ') ? `Y${words.slice(1)}` : words;
}

/** sentenceOf describes who types and who watches, for screen readers. */
export function sentenceOf(watchers: Watchers): string {
  const words = wordsOf(watchers);
  if (words === '') return 'Nobody else is here';
  const typist = typistOf(watchers);
  return `${typist === undefined ? 'You type' : typist === null ? 'Nobody types' : `${typist} types`}, ${words}`;
}

function wordsOf({ people, more }: Watchers): string {
  const you = people.find((one) => one.you);
  const holder = people.find(({ holds }) => holds);
  // A person with several windows is named once, with the highest of their roles: typing before watching.
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
