import type { JournalEvent } from './protocol';

const kept = 2000;

/** Recall keeps the newest events, so that an answer that was under way can be brought up to date. */
export class Recall {
  private events: JournalEvent[] = [];
  private count = 0;

  /** note keeps events. */
  note(events: JournalEvent[]): void {
    this.count += events.length;
    this.events = [...this.events, ...events].slice(-kept);
  }

  /** mark is a place between two events. */
  mark(): number {
    return this.count;
  }

  /** since is every event behind a mark that is still kept. */
  since(mark: number): JournalEvent[] {
    const missed = this.count - mark;
    return missed > 0 ? this.events.slice(-missed) : [];
  }
}

/** recall is this tab's memory of the stream. */
export const recall = new Recall();
