import { useParams } from '@tanstack/react-router';
import { messageOf } from '@/api/error';
import { NotFound } from '@/components/NotFound';
import { PageHeader } from '@/components/PageHeader';
import { useProject } from '@/components/project';
import { useTitle } from '@/lib/title';
import { ErrorState, Loading, Skeleton } from '@/ui/States';
import { ProjectBoard } from './ProjectBoard';

/** BoardPage shows a project's work in four columns. It is the first page of svc. */
export function BoardPage() {
  const { slug } = useParams({ from: '/shell/p/$slug/board' });
  const { project, isPending, error, refetch } = useProject(slug);
  useTitle(project ? `${project.name} board` : 'Board');
  if (project) return <ProjectBoard key={project.id} project={project} />;
  if (isPending) return <BoardSkeleton />;
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

/** BoardSkeleton is a placeholder for the board while it loads. */
export function BoardSkeleton({ title = 'Board' }: { title?: string }) {
  return (
    <>
      <PageHeader title={title} />
      <Loading label="Loading the board" className="flex flex-1 gap-4 overflow-hidden p-4 sm:p-5">
        {[5, 3, 4].map((cards) => (
          <div key={cards} className="flex min-w-60 flex-1 flex-col gap-2">
            <Skeleton className="mb-2 h-5 w-24" />
            {Array.from({ length: cards }, (_, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: boxes without a life of their own
              <Skeleton key={i} className="h-20" />
            ))}
          </div>
        ))}
      </Loading>
    </>
  );
}
