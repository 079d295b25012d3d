const units: [Intl.RelativeTimeFormatUnit, number, string][] = [
  ['day', 86_400_000, 'd'],
  ['hour', 3_600_000, 'h'],
  ['minute', 60_000, 'min'],
  ['second', 1000, 's'],
];

// The formatters are made once: making one takes longer than formatting a hundred dates, and every card shows a date.
const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' });
const moment = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

/** span formats a duration in its largest unit: 12 min. Less than a second is 0 s. */
export function span(ms: number): string {
  for (const [, size, name] of units) {
    if (ms >= size) return `${Math.floor(ms / size)} ${name}`;
  }
  return '0 s';
}

/** ago formats the time since a moment: 12 min ago. Within ten seconds it is "now". */
export function ago(at: string, now: number): string {
  const ms = now - Date.parse(at);
  if (Number.isNaN(ms)) return '';
  if (ms > 30 * 86_400_000) return day.format(new Date(at));
  return ms < 10_000 ? 'now' : `${span(ms)} ago`;
}

/** exact formats a moment in the user's time zone. */
export function exact(at: string): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? '' : moment.format(date);
}
