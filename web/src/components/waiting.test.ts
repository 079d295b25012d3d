import { expect, it } from 'vitest';
import type { Waiting } from '@/api/schema.gen';
import { waitsFor } from './waiting';

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
