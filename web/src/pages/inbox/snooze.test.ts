import { expect, it } from 'vitest';
import { snoozeTimes } from './snooze';

it('tomorrow morning is tomorrow, also at the end of a month and shortly after midnight', () => {
  const at = (now: Date): Date | undefined => snoozeTimes(now)[2]?.at;
  expect(at(new Date(2026, 0, 31, 23, 59))).toEqual(new Date(2026, 1, 1, 9));
  expect(at(new Date(2026, 5, 10, 0, 1))).toEqual(new Date(2026, 5, 11, 9));
});
