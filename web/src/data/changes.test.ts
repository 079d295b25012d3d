import { expect, it } from 'vitest';
import type { Workspace } from '@/api/schema.gen';
import { untilArrived } from './changes';

const copy = (checkpoint: number, relayed_checkpoint: number) =>
  ({ checkpoint, relayed_checkpoint }) as Workspace;

it('looks at working copies again while a checkpoint of one of them is on its way', () => {
  expect(untilArrived([])).toBe(false);
  expect(untilArrived([copy(2, 2), copy(0, 0)])).toBe(false);
  expect(untilArrived([copy(2, 2), copy(3, 2)])).toBeGreaterThan(0);
});
