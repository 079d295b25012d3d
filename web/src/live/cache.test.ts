import { QueryClient } from '@tanstack/react-query';
import { describe, expect, it } from 'vitest';
import type { WorkItem } from '@/api/records';
import { keys } from '@/data/keys';
import { CachePatcher, current } from './cache';
import { item } from './fixtures';

const moved = {
  seq: 5,
  topic: 'work_item.status_changed',
  payload: { task_id: 'a', project_id: 'p', status: 'done' },
};

describe('the cache', () => {
  it('takes events into every query that holds the record', () => {
    const client = new QueryClient();
    client.setQueryData(keys.workItems('p'), [item('a'), item('b')]);
    client.setQueryData(keys.workItem('a'), item('a', { description: 'd' }));
    new CachePatcher(client).apply([moved]);
    expect(client.getQueryData<WorkItem[]>(keys.workItems('p'))?.[0]?.status).toBe('done');
    expect(client.getQueryData<WorkItem>(keys.workItem('a'))).toMatchObject({
      status: 'done',
      description: 'd',
    });
  });

  it('keeps lists that an event does not touch as they are', () => {
    const client = new QueryClient();
    const items = [item('a', { project_id: 'q' })];
    client.setQueryData(keys.workItems('q'), items);
    new CachePatcher(client).apply([moved]);
    expect(client.getQueryData(keys.workItems('q'))).toBe(items);
  });

  it('brings an answer up to the events that came while it was under way', async () => {
    const client = new QueryClient();
    const answer = await current(keys.workItems('p'), async () => {
      new CachePatcher(client).apply([moved]);
      return [item('a')];
    });
    expect(answer[0]?.status).toBe('done');
  });
});
