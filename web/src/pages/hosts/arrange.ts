import type { Host } from '@/api/records';
import { hostWord, worstFirst } from '@/components/hostState';

const byName = (a: Host, b: Host): number => a.name.localeCompare(b.name, undefined, { numeric: true });

/** unknownLast compares numbers. Unknown ones come last. */
const unknownLast = (a: number | null, b: number | null): number =>
  a === b ? 0 : a === null ? 1 : b === null ? -1 : a - b;

const seen = ({ last_seen_at }: Host): number | null => (last_seen_at ? Date.parse(last_seen_at) : null);

/** orders are the orders of the list of hosts. The first is the default. */
export const orders: { value: string; label: string; compare(a: Host, b: Host): number }[] = [
  { value: 'state', label: 'Worst first', compare: worstFirst },
  { value: 'name', label: 'By name', compare: byName },
  { value: 'load', label: 'Busiest first', compare: (a, b) => b.active_runs - a.active_runs },
  {
    value: 'disk',
    label: 'Least free disk first',
    compare: (a, b) => unknownLast(a.disk_free_bytes, b.disk_free_bytes),
  },
  { value: 'seen', label: 'Longest unseen first', compare: (a, b) => unknownLast(seen(a), seen(b)) },
  {
    value: 'version',
    label: 'By version',
    compare: (a, b) => a.worker_version.localeCompare(b.worker_version, undefined, { numeric: true }),
  },
];

/** textOf returns all text of a host that a search covers. */
function textOf(host: Host): string {
  const labels = Object.entries(host.labels).map(([name, value]) => `${name}=${value}`);
  const providers = Object.entries(host.providers).flatMap(([id, { available }]) => (available ? [id] : []));
  const facts = [host.name, hostWord(host), host.platform, host.worker_version, host.containment];
  const trouble = [host.connected ? '' : 'not connected', host.refusing?.code ?? ''];
  return [...facts, ...trouble, ...labels, ...providers].join('\n').toLowerCase();
}

/**
 * arrange returns the hosts that contain every word of a search, sorted. An unknown order is treated as the default.
 */
export function arrange(hosts: Host[], search: string, order?: string): Host[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const { compare } = orders.find((each) => each.value === order) ?? (orders[0] as (typeof orders)[number]);
  return hosts
    .filter((host) => {
      const text = textOf(host);
      return words.every((word) => text.includes(word));
    })
    .sort((a, b) => compare(a, b) || byName(a, b));
}
