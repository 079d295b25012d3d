import { expect, test } from 'vitest';
import { itemRef, taskRef } from './records';

test('an item and the task of a run have the short name that the command line takes', () => {
  expect(itemRef({ project_slug: 'check-out', number: 12 })).toBe('CHECK-OUT-12');
  expect(itemRef({ project_slug: '', number: 12 })).toBe('');
  expect(taskRef({ project_slug: 'x', task_number: 3 })).toBe('X-3');
});
