import type { Waiting } from '@/api/schema.gen';

type Why = Waiting['hosts'][number]['why'];

/** hostReasons has the words for why a host does not take a run. */
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

/** nearest lists the reasons, those that are easiest to remove first. */
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

/** unfit are the reasons that waiting cannot remove. */
const unfit: ReadonlySet<Why> = new Set(['labels_missing', 'other_host_pinned']);

/** Blocker is one reason and the hosts to which it applies. */
export interface Blocker {
  why: Why;
  hosts: Waiting['hosts'];
}

/**
 * blockersOf groups hosts by the reason why they do not take a run, in the order of nearest. Hosts that can never take
 * the run are only counted.
 */
export function blockersOf({ hosts }: Waiting): { blockers: Blocker[]; unfit: number } {
  const groups = new Map<Why, Waiting['hosts']>();
  for (const host of hosts) groups.set(host.why, [...(groups.get(host.why) ?? []), host]);
  const all = nearest.flatMap((why) => {
    const found = groups.get(why);
    return found ? [{ why, hosts: found }] : [];
  });
  const fit = all.filter(({ why }) => !unfit.has(why));
  // If no host fits the run, those reasons are what blocks it.
  if (fit.length === 0) return { blockers: all, unfit: 0 };
  return { blockers: fit, unfit: hosts.length - fit.reduce((sum, each) => sum + each.hosts.length, 0) };
}

/** waitsFor explains in a few sentences why a run waits: its own conditions, else the reasons of the hosts. */
export function waitsFor(waiting: Waiting): string[] {
  if (waiting.why.length > 0) return waiting.why.map((hold) => hold.message);
  if (waiting.hosts_total === 0) return ['there is no host at all'];
  const { blockers } = blockersOf(waiting);
  if (blockers[0]?.why === 'eligible') return ['a host takes it next'];
  return blockers.map(({ why, hosts }) => `${hostCount(hosts.length)}: ${hostReasons[why]}`);
}

/** hostCount returns a number of hosts in words. */
export const hostCount = (count: number): string => (count === 1 ? '1 host' : `${count} hosts`);
