import { useQuery } from '@tanstack/react-query';
import { hostsQuery, projectsQuery } from './queries';

/** usePlace is the project and the host that an address names, by slug and by name, and what runs of them are asked for by. */
export function usePlace(named: { project?: string; host?: string }) {
  const { data: projects = [], isSuccess: projectsKnown } = useQuery(projectsQuery);
  const { data: hosts = [], isSuccess: hostsKnown } = useQuery(hostsQuery);
  const project = projects.find((each) => each.slug === named.project);
  const host = hosts.find((each) => each.name === named.host);
  return {
    projects,
    hosts,
    filter: { ...(project && { project_id: project.id }), ...(host && { host_id: host.id }) },
    /** Until it is known which project and host an address means, nothing is asked. */
    known: Boolean((!named.project || project) && (!named.host || host)),
    /** There is no such project, or no such host. */
    missing: Boolean((named.project && projectsKnown && !project) || (named.host && hostsKnown && !host)),
  };
}
