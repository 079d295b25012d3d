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

/** nearest orders reasons by how near a host is to taking the run: what is nearest is what to look at first. */
const nearest: readonly Why[] = [
  'eligible',
  'full',
  'unconfirmed',
  'not_connected',
  'cooling_down',
  'disk_low',
  'refused',
  'offline',
  'suspect',
  'disabled',
  'never_seen',
  'no_workspaces',
  'provider_missing',
  'labels_missing',
  'other_host_pinned',
];

/** unfit are the reasons of hosts that no waiting makes fit. */
const unfit: ReadonlySet<Why> = new Set(['labels_missing', 'other_host_pinned']);

/** Blocker is one reason with the hosts that have it. */
export interface Blocker {
  why: Why;
  hosts: Waiting['hosts'];
}

/** blockersOf groups hosts by why they do not take a run, those nearest to it first. What could never take it is counted. */
export function blockersOf({ hosts }: Waiting): { blockers: Blocker[]; unfit: number } {
  const groups = new Map<Why, Waiting['hosts']>();
  for (const host of hosts) groups.set(host.why, [...(groups.get(host.why) ?? []), host]);
  const all = nearest.flatMap((why) => {
    const found = groups.get(why);
    return found ? [{ why, hosts: found }] : [];
  });
  const fit = all.filter(({ why }) => !unfit.has(why));
  // Where none fits, that is what blocks it.
  if (fit.length === 0) return { blockers: all, unfit: 0 };
  return { blockers: fit, unfit: hosts.length - fit.reduce((sum, each) => sum + each.hosts.length, 0) };
}

/** waitsFor is why a run waits, in a few sentences: what holds it back, else what is the matter with the hosts. */
export function waitsFor(waiting: Waiting): string[] {
  if (waiting.why.length > 0) return waiting.why.map((hold) => hold.message);
  if (waiting.hosts_total === 0) return ['there is no host at all'];
  const { blockers } = blockersOf(waiting);
  if (blockers[0]?.why === 'eligible') return ['a host takes it next'];
  return blockers.map(({ why, hosts }) => `${hostCount(hosts.length)}: ${hostReasons[why]}`);
}

/** hostCount is a number of hosts in words. */
export const hostCount = (count: number): string => (count === 1 ? '1 host' : `${count} hosts`);
