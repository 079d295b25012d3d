import type { Event } from '@/api/records';

/** Entry is an event in the list, and the number of similar earlier events that it replaces. */
export interface Entry {
  event: Event;
  earlier: number;
}

const isProgress = ({ topic, payload }: Event): boolean =>
  topic === 'run.output_appended' ||
  (topic === 'run.signal_received' && payload.kind === 'progress' && payload.needs_input !== true);

/** collapse keeps only the newest of a run's consecutive progress reports, so that one agent cannot fill the list. */
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
