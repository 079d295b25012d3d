import { useQuery } from '@tanstack/react-query';
import { Navigate } from '@tanstack/react-router';
import { messageOf } from '@/api/error';
import { projectsQuery } from '@/data/queries';
import { usePrefs } from '@/lib/prefs';
import { ErrorState, Loading, Skeleton } from '@/ui/States';
import { Welcome } from './Welcome';

/** HomePage shows the board of the last project, or the steps to create the first one. */
export function HomePage() {
  const { data: projects, error, refetch } = useQuery(projectsQuery);
  const last = usePrefs((prefs) => prefs.lastProject);
  if (!projects) {
    if (error)
      return (
        <ErrorState
          page
          title="The projects could not be read"
          message={messageOf(error)}
          retry={() => void refetch()}
          className="pt-[12vh]"
        />
      );
    return (
      <Loading className="p-6">
        <Skeleton className="h-8 w-56" />
      </Loading>
    );
  }
  const project = projects.find((each) => each.slug === last) ?? projects[0];
  if (!project) return <Welcome />;
  return <Navigate to="/p/$slug/board" params={{ slug: project.slug }} search={{}} replace />;
}
