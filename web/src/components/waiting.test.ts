import { expect, it } from 'vitest';
import type { Waiting } from '@/api/schema.gen';
import { blockersOf, waitsFor } from './waiting';

type Why = Waiting['hosts'][number]['why'];
const waiting = (whys: Why[], fields: Partial<Waiting> = {}): Waiting => ({
  hosts: whys.map((why, i) => ({ host_id: `h${i}`, name: `h${i}`, why })),
  hosts_total: whys.length,
  not_before: null,
  position: 1,
  times_out_at: null,
  why: [],
  ...fields,
});

it('a wait is told by what holds it back, not by every host', () => {
  expect(waitsFor(waiting(['full', 'offline', 'full', 'full']))).toEqual([
    '3 hosts: full: as many runs as it may have',
    '1 host: offline',
  ]);
  const blocked = {
    code: 'blocked',
    message: 'it needs 2 items that are not done',
  } as Waiting['why'][number];
  expect(waitsFor(waiting(['full'], { why: [blocked] }))).toEqual(['it needs 2 items that are not done']);
  expect(waitsFor(waiting(['full', 'eligible']))).toEqual(['a host takes it next']);
  expect(waitsFor(waiting([]))).toEqual(['there is no host at all']);
});

it('the hosts nearest to taking a run come first, and those that never fit are only counted', () => {
  const many = waiting([
    ...Array.from({ length: 40 }, () => 'labels_missing' as const),
    'offline',
    'offline',
    'full',
  ]);
  const { blockers, unfit } = blockersOf(many);
  expect(blockers.map(({ why, hosts }) => [why, hosts.length])).toEqual([
    ['full', 1],
    ['offline', 2],
  ]);
  expect(unfit).toBe(40);
  expect(waitsFor(many)).toEqual(['1 host: full: as many runs as it may have', '2 hosts: offline']);
});

it('where no host fits, that is the reason', () => {
  const none = waiting(['labels_missing', 'labels_missing']);
  expect(blockersOf(none)).toEqual({ blockers: [{ why: 'labels_missing', hosts: none.hosts }], unfit: 0 });
});
