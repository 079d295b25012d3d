import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useEffect } from 'react';
import type { Project } from '@/api/records';
import { projectsQuery } from '@/data/queries';
import { setPref, usePrefs } from '@/lib/prefs';

/** useCurrentProject returns the project of this page, or the one that was opened last. Null: there is none. */
export function useCurrentProject(): Project | null {
  const { slug } = useParams({ strict: false });
  const last = usePrefs((prefs) => prefs.lastProject);
  const { data: projects = [] } = useQuery(projectsQuery);
  return projects.find((project) => project.slug === (slug ?? last)) ?? (slug ? null : (projects[0] ?? null));
}

/**
 * useProject returns the project with this slug and the state of its query. It stores the project as the last opened.
 */
export function useProject(slug: string) {
  const query = useQuery(projectsQuery);
  const project = query.data?.find((other) => other.slug === slug);
  useEffect(() => {
    if (project) setPref('lastProject', project.slug);
  }, [project]);
  return { ...query, project };
}
