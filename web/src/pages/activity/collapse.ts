import type { Event } from '@/api/records';

/** Entry is an event of the feed, with how many like it came before without anything between. */
export interface Entry {
  event: Event;
  earlier: number;
}

const isProgress = ({ topic, payload }: Event): boolean =>
  topic === 'run.output_appended' ||
  (topic === 'run.signal_received' && payload.kind === 'progress' && payload.needs_input !== true);

/** collapse keeps of a run's reports in a row only the newest: an agent that talks much must not fill the feed. */
export function collapse(events: readonly Event[]): Entry[] {
  const entries: Entry[] = [];
  const open = new Map<string, Entry>();
  for (const event of events) {
    const run = String(event.payload.run_id ?? '');
    const known = open.get(run);
    if (isProgress(event)) {
      if (known?.event.topic === event.topic) {
        known.earlier++;
        continue;
      }
      const entry = { event, earlier: 0 };
      open.set(run, entry);
      entries.push(entry);
    } else {
      open.delete(run);
      entries.push({ event, earlier: 0 });
    }
  }
  return entries;
}
