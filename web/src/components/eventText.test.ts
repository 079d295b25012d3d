import { expect, it } from 'vitest';
import type { Event } from '@/api/records';
import { eventText } from './eventText';

const by = (topic: Event['topic'], payload: Event['payload']): string => eventText({ topic, payload }).source;

it('an event names whoever caused it', () => {
  expect(by('work_item.status_changed', { status: 'done', status_source: 'manual', by: 'ann' })).toBe('ann');
  expect(by('work_item.status_changed', { status: 'done', status_source: 'manual' })).toBe('someone');
  expect(by('work_item.status_changed', { status: 'done', status_source: 'signal' })).toBe(
    'the orchestrator',
  );
  expect(by('run.created', { by: 'bob' })).toBe('bob');
  expect(by('run.created', {})).toBe('someone');
  expect(by('run.signal_received', { kind: 'progress', source: 'provider-hook' })).toBe('the agent’s hook');
});
