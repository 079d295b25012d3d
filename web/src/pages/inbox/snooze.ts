/** SnoozeTime is a time until which an entry can be snoozed, with its label. */
export interface SnoozeTime {
  label: string;
  at: Date;
}

const morning = 9;

/** snoozeTimes returns the times that are offered now, in the browser's time zone. */
export function snoozeTimes(now: Date): SnoozeTime[] {
  const tomorrow = new Date(now);
  tomorrow.setDate(now.getDate() + 1);
  tomorrow.setHours(morning, 0, 0, 0);
  return [
    { label: 'For an hour', at: new Date(now.getTime() + 60 * 60_000) },
    { label: 'For four hours', at: new Date(now.getTime() + 4 * 60 * 60_000) },
    { label: 'Until tomorrow morning', at: tomorrow },
  ];
}
