import { availability, type Project, type Provider } from '@/api/records';

/** The ids that the API always accepts. They are hidden where no host has them. */
const standard = ['provider_a', 'provider_b', 'provider_c', 'provider_d'];

/** isShown reports whether a provider is shown. The standard ids that no host has are hidden. */
export const isShown = (provider: Provider): boolean =>
  !standard.includes(provider.id) || availability(provider).available > 0;

/** Tool is a tool that can be chosen, with its interactive mode if it has one. */
export interface Tool {
  provider: Provider;
  interactive?: Provider;
}

/** toolsOf combines the two provider entries of each tool. */
export const toolsOf = (providers: Provider[]): Tool[] =>
  providers
    .filter((each) => isShown(each) && !each.interactive)
    .map((provider) => ({
      provider,
      interactive: providers.find((each) => each.interactive && each.tool === provider.id),
    }));

/**
 * preferred returns the default provider of a new run: the first of the wished ids that exists, else the
 * orchestrator's default, else the first provider that a host has.
 */
export const preferred = (providers: Provider[], ...wished: (string | undefined)[]): Provider | undefined =>
  wished.map((id) => providers.find((each) => each.id === id)).find(Boolean) ??
  providers.find((each) => each.default) ??
  providers.find((each) => availability(each).available > 0) ??
  providers[0];

/** modelFor returns the default model for a provider: the project's, else the last model used with this provider. */
export const modelFor = (
  chosen: Provider | undefined,
  project: Project | undefined,
  last: { provider: string; model: string } | null | undefined,
): string => {
  const own = project?.provider === '' || project?.provider === chosen?.tool ? project?.model : '';
  return own || (last?.provider === chosen?.id ? (last?.model ?? '') : '');
};
