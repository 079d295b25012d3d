import { availability, type Project, type Provider } from '@/api/records';

/** The ids that the API always accepts. Where no host has them they are of no interest. */
const standard = ['provider_a', 'provider_b', 'provider_c', 'provider_d'];

/** isShown leaves out the standard ids that no host has. */
export const isShown = (provider: Provider): boolean =>
  !standard.includes(provider.id) || availability(provider).available > 0;

/** Tool is one choice: a tool, and its interactive mode if it has one. */
export interface Tool {
  provider: Provider;
  interactive?: Provider;
}

/** toolsOf joins the two entries of a tool. */
export const toolsOf = (providers: Provider[]): Tool[] =>
  providers
    .filter((each) => isShown(each) && !each.interactive)
    .map((provider) => ({
      provider,
      interactive: providers.find((each) => each.interactive && each.tool === provider.id),
    }));

/**
 * preferred is what a run is started with when nobody has chosen: the first of the wished ids that
 * exists, else what the orchestrator prefers, else the first that some host has.
 */
export const preferred = (providers: Provider[], ...wished: (string | undefined)[]): Provider | undefined =>
  wished.map((id) => providers.find((each) => each.id === id)).find(Boolean) ??
  providers.find((each) => each.default) ??
  providers.find((each) => availability(each).available > 0) ??
  providers[0];

/** modelFor is the model that belongs to a provider: the project's, else the last one used with it. */
export const modelFor = (
  chosen: Provider | undefined,
  project: Project | undefined,
  last: { provider: string; model: string } | null | undefined,
): string => {
  const own = project?.provider === '' || project?.provider === chosen?.tool ? project?.model : '';
  return own || (last?.provider === chosen?.id ? (last?.model ?? '') : '');
};
