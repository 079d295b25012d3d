import type { Host, Provider } from '@/api/records';

/** Fix is a provider that should be somewhere and is not. */
export interface Fix {
  provider: string;
  name: string;
  /** The names of the hosts without it. */
  hosts: string[];
}

/** Offer is a tool with a preset that some hosts have and that their catalogs do not use. */
export interface Offer {
  preset: string;
  hosts: string[];
}

/** offersOf lists the presets for what was found on hosts, by name. */
export function offersOf(hosts: readonly Host[]): Offer[] {
  const found = new Map<string, string[]>();
  for (const host of hosts)
    for (const [id, report] of Object.entries(host.providers))
      if (report.preset) found.set(id, [...(found.get(id) ?? []), host.name]);
  return [...found].map(([preset, names]) => ({ preset, hosts: names })).sort(byPreset);
}

const byPreset = (a: Offer, b: Offer): number => a.preset.localeCompare(b.preset);

/** fixesOf lists what is missing where it is expected: no optional providers, no hosts that are gone. */
export function fixesOf(providers: readonly Provider[], hosts: readonly Host[]): Fix[] {
  return providers
    .filter((provider) => !provider.optional)
    .map((provider) => ({
      provider: provider.id,
      name: provider.name || provider.id,
      hosts: hosts.filter((host) => provider.hosts[host.id]?.available === false).map((host) => host.name),
    }))
    .filter((fix) => fix.hosts.length > 0);
}
