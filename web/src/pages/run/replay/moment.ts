import type { Event } from '@/api/records';
import { eventText } from '@/components/eventText';
import type { Mark } from '@/terminal/recording';

/** attemptOf is the attempt that an event of a run is about; 0: none, so that no recording shows its moment. */
export const attemptOf = (event: Event): number => Number(event.payload.attempt ?? 0);

/**
 * momentOf is when in the recording of its attempt an event came. A recording marks the same events, without their numbers:
 * the third mark of a topic is the third event of that topic. Null: the event is not known, or came after the recording.
 */
export function momentOf(marks: readonly Mark[], events: readonly Event[], seq: number): number | null {
  const event = events.find((other) => other.seq === seq);
  if (!event) return null;
  const before = events.filter(
    (other) => other.seq < seq && other.topic === event.topic && attemptOf(other) === attemptOf(event),
  ).length;
  return marks.filter((mark) => mark.label === event.topic)[before]?.at ?? null;
}

/**
 * titlesOf says what each mark of an attempt's recording is. A mark has its topic alone; where the event itself is known, it is
 * told in its own words, else only the topic is named, since how a run ended is not in it.
 */
export function titlesOf(marks: readonly Mark[], events: readonly Event[], attempt: number): string[] {
  const oldest = events.filter((event) => attemptOf(event) === attempt).sort((a, b) => a.seq - b.seq);
  const seen = new Map<string, number>();
  return marks.map(({ label }) => {
    const before = seen.get(label) ?? 0;
    seen.set(label, before + 1);
    const event = oldest.filter(({ topic }) => topic === label)[before];
    return event ? eventText(event).title : inWords(label);
  });
}

/** inWords is a topic as people read it: run.finished is Run finished. */
function inWords(topic: string): string {
  const words = topic.replace(/[._]/g, ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}
