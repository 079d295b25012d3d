import { useQuery } from '@tanstack/react-query';
import { hostsQuery, projectsQuery } from './queries';

/**
 * usePlace finds the project (by slug) and the host (by name) that the page's address names, and the filter for runs of
 * them.
 */
export function usePlace(named: { project?: string; host?: string }) {
  const { data: projects = [], isSuccess: projectsKnown } = useQuery(projectsQuery);
  const { data: hosts = [], isSuccess: hostsKnown } = useQuery(hostsQuery);
  const project = projects.find((each) => each.slug === named.project);
  const host = hosts.find((each) => each.name === named.host);
  return {
    projects,
    hosts,
    filter: { ...(project && { project_id: project.id }), ...(host && { host_id: host.id }) },
    /** Whether the named project and host have been found. Until then nothing is requested. */
    known: Boolean((!named.project || project) && (!named.host || host)),
    /** Whether the named project or host does not exist. */
    missing: Boolean((named.project && projectsKnown && !project) || (named.host && hostsKnown && !host)),
  };
}
