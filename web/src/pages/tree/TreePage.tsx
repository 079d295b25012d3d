import { useParams } from '@tanstack/react-router';
import { messageOf } from '@/api/error';
import { NotFound } from '@/components/NotFound';
import { useProject } from '@/components/project';
import { useTitle } from '@/lib/title';
import { ErrorState, Loading, Skeleton } from '@/ui/States';
import { ProjectTree } from './ProjectTree';

/** TreePage shows a project's work as a hierarchy: milestone, epic, task, subtask. */
export function TreePage() {
  const { slug } = useParams({ from: '/shell/p/$slug/tree' });
  const { project, isPending, error, refetch } = useProject(slug);
  useTitle(project ? `${project.name} tree` : 'Tree');
  if (project) return <ProjectTree key={project.id} project={project} />;
  if (isPending)
    return (
      <Loading className="p-6">
        <Skeleton className="h-64" />
      </Loading>
    );
  if (error)
    return (
      <ErrorState
        page
        title="The project could not be read"
        message={messageOf(error)}
        retry={() => void refetch()}
        className="pt-[12vh]"
      />
    );
  return <NotFound what="project" />;
}
