import type { Waiting } from '@/api/schema.gen';

type Why = Waiting['hosts'][number]['why'];

/** hostReasons are why a host does not take a run, in words. */
export const hostReasons: Record<Why, string> = {
  other_host_pinned: 'the run is pinned to another host',
  labels_missing: 'it does not have the labels that the run asks for',
  never_seen: 'no worker has joined as it yet',
  offline: 'offline',
  disabled: 'disabled: it gets no new runs',
  suspect: 'suspect: two workers claim to be it',
  cooling_down: 'it cannot start runs and takes none for now',
  disk_low: 'it has too little disk space free',
  no_workspaces: 'its worker cannot make working copies',
  not_connected: 'its worker is not connected now',
  full: 'full: as many runs as it may have',
  unconfirmed: 'it has not confirmed the runs it was given',
  refused: 'it refused this attempt',
  provider_missing: 'it does not have the provider',
  eligible: 'eligible',
};

/**
 * waitsFor is why a run waits, in a few sentences: what holds it back, else what is the matter with the hosts, the
 * most frequent first.
 */
export function waitsFor(waiting: Waiting): string[] {
  if (waiting.why.length > 0) return waiting.why.map((hold) => hold.message);
  if (waiting.hosts_total === 0) return ['there is no host at all'];
  const counts = new Map<Why, number>();
  for (const { why } of waiting.hosts) counts.set(why, (counts.get(why) ?? 0) + 1);
  if (counts.has('eligible')) return ['a host takes it next'];
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .map(([why, count]) => `${count === 1 ? '1 host' : `${count} hosts`}: ${hostReasons[why]}`);
}
