import { expect, it } from 'vitest';
import { host, item, run } from '@/live/fixtures';
import { findHosts, findItems, findRuns, fits, parse } from './paletteFind';

it('takes a verb only where something may follow it', () => {
  expect(parse('stop')).toEqual({ verb: null, words: 'stop' });
  expect(parse('stop ')).toEqual({ verb: 'stop', words: '' });
  expect(parse('Attach the shed')).toEqual({ verb: 'attach', words: 'the shed' });
  expect(parse('stopwatch app')).toEqual({ verb: null, words: 'stopwatch app' });
});

it('finds by words in any order, and by the beginning of an id that is long enough', () => {
  expect(fits('shed PAINT', 'Paint the shed')).toBe(true);
  expect(fits('shed blue', 'Paint the shed')).toBe(false);
  expect(fits('1a2b', 'x', '1a2b3c4d')).toBe(true);
  expect(fits('1a', 'x', '1a2b3c4d')).toBe(false);
});

it('finds items of every project, those of the open one first, and a number before all', () => {
  const items = [
    item('far', { project_id: 'q', project_slug: 'q', number: 3, title: 'Pay 12 people' }),
    item('near', { number: 4, title: 'Pay 12 more' }),
    item('exact', { project_id: 'q', project_slug: 'q', number: 12, title: 'Paint' }),
  ];
  const ids = (words: string) => findItems(items, words, null, 'p').map(({ id }) => id);
  expect(ids('pay')).toEqual(['near', 'far']);
  expect(ids('12')).toEqual(['exact', 'near', 'far']);
  expect(ids('q-12')).toEqual(['exact']);
});

it('offers to start only what can run, to stop only what runs, and to attach where someone can type', () => {
  const items = [item('t', { title: 'Paint' }), item('e', { title: 'Paint', kind: 'epic' })];
  expect(findItems(items, 'paint', 'start', 'p').map(({ id }) => id)).toEqual(['t']);
  expect(findItems(items, 'paint', 'stop', 'p')).toEqual([]);
  const hosts = new Map([
    ['h', host('h')],
    ['away', host('away', { status: 'offline' })],
  ]);
  const runs = [
    run('going'),
    run('waits', { status: 'pending', host_id: null }),
    run('lost', { host_id: 'away' }),
    run('over', { status: 'exited' }),
  ];
  const ids = (verb: 'stop' | 'attach' | null) => findRuns(runs, hosts, 't', verb).map(({ id }) => id);
  expect(ids('stop')).toEqual(['going', 'waits', 'lost']);
  expect(ids('attach')).toEqual(['going']);
  expect(ids(null)).toHaveLength(4);
});

it('finds hosts by name and label', () => {
  const hosts = [host('gpu-1', { labels: { gpu: 'yes' } }), host('build-1')];
  expect(findHosts(hosts, 'gpu=yes', null)).toEqual([hosts[0]]);
  expect(findHosts(hosts, 'build', 'stop')).toEqual([]);
});
