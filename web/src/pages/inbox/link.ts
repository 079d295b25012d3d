import { linkOptions } from '@tanstack/react-router';
import type { InboxItem } from '@/api/schema.gen';

/** linkOf returns the link to the page of an entry's run or host. */
export const linkOf = (item: Pick<InboxItem, 'kind' | 'run_id' | 'host_id'>) =>
  item.run_id
    ? linkOptions({
        to: '/runs/$runId',
        params: { runId: item.run_id },
        search: item.kind === 'review' || item.kind === 'land_failed' ? { tab: 'changes' } : {},
      })
    : linkOptions({ to: '/hosts/$hostId', params: { hostId: item.host_id ?? '' } });
