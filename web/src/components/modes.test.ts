import { expect, test } from 'vitest';
import type { Provider } from '@/api/records';
import { provider as known } from '@/live/fixtures';
import { preferred, toolsOf } from './modes';

const provider = (id: string, available: boolean, more: Partial<Provider> = {}): Provider =>
  known(id, { hosts: { h: { host_name: 'h', available, resumes: false, reported_at: null } }, ...more });

const catalog = [
  provider('provider_a', false),
  provider('provider_b', true),
  provider('claude', true),
  provider('claude-tui', true, { tool: 'claude', interactive: true }),
  provider('codex', false),
];

test('two modes of a tool are one choice, and what nobody has is left out', () => {
  expect(toolsOf(catalog).map((tool) => [tool.provider.id, tool.interactive?.id])).toEqual([
    ['provider_b', undefined],
    ['claude', 'claude-tui'],
    ['codex', undefined],
  ]);
});

test('a wish wins, then the default, then what is there', () => {
  expect(preferred(catalog, 'gone', 'codex')?.id).toBe('codex');
  expect(preferred(catalog, undefined)?.id).toBe('provider_b');
  expect(preferred([...catalog, provider('x', false, { default: true })])?.id).toBe('x');
  expect(preferred([])).toBeUndefined();
});
