import type { Host, Provider } from '@/api/records';

/** Fix is a provider that should be somewhere and is not. */
export interface Fix {
  provider: string;
  name: string;
  /** The names of the hosts without it. */
  hosts: string[];
}

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
