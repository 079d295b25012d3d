import type { Event } from '@/api/records';
import { eventText } from '@/components/eventText';
import type { Mark } from '@/terminal/recording';

/** attemptOf returns the attempt to which an event of a run belongs. 0: none, so no recording contains its time. */
export const attemptOf = (event: Event): number => Number(event.payload.attempt ?? 0);

/**
 * momentOf returns the time of an event in the recording of its attempt. A recording marks the same events, but without
 * their numbers: the third mark of a topic is the third event of that topic. Null: the event is not known, or came after
 * the recording.
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
 * titlesOf returns a title for each mark of an attempt's recording. A mark has only its topic. If its event is loaded, the
 * event's title is used. Otherwise the title is only the topic, which does not contain how a run ended.
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

/** inWords formats a topic for people: run.finished becomes Run finished. */
function inWords(topic: string): string {
  const words = topic.replace(/[._]/g, ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}
