import type { Host, Provider } from '@/api/records';

/** Fix is a provider that is missing on some hosts. */
export interface Fix {
  provider: string;
  name: string;
  /** The names of those hosts. */
  hosts: string[];
}

/** Offer is a preset for a tool that is installed on some hosts but is not in their catalogs. */
export interface Offer {
  preset: string;
  hosts: string[];
}

/** offersOf returns the presets for tools that were found on hosts, by name. */
export function offersOf(hosts: readonly Host[]): Offer[] {
  const found = new Map<string, string[]>();
  for (const host of hosts)
    for (const [id, report] of Object.entries(host.providers))
      if (report.preset) found.set(id, [...(found.get(id) ?? []), host.name]);
  return [...found].map(([preset, names]) => ({ preset, hosts: names })).sort(byPreset);
}

const byPreset = (a: Offer, b: Offer): number => a.preset.localeCompare(b.preset);

/** fixesOf returns the providers that are missing on hosts. Optional providers and deleted hosts are left out. */
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
