import { expect, it } from 'vitest';
import { host } from '@/live/fixtures';
import { offersOf } from './fixes';

it('offers each preset once, with the hosts that have its tool and do not use it', () => {
  const found = { available: false, preset: true };
  const hosts = [
    host('one', { providers: { qwen: found, claude: { available: true } } }),
    host('two', { providers: { qwen: found, claude: found, late: { available: false } } }),
  ];
  expect(offersOf(hosts)).toEqual([
    { preset: 'claude', hosts: ['two'] },
    { preset: 'qwen', hosts: ['one', 'two'] },
  ]);
});
