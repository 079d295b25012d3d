import { useNavigate, useParams } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { messageOf } from '@/api/error';
import type { Project } from '@/api/records';
import { NotFound } from '@/components/NotFound';
import { PageHeader } from '@/components/PageHeader';
import { useProject } from '@/components/project';
import { Section } from '@/components/Section';
import { useArchiveProject } from '@/data/actions';
import { useMay } from '@/data/role';
import { useTitle } from '@/lib/title';
import { Button } from '@/ui/Button';
import { Dialog } from '@/ui/Overlay';
import { ErrorState, Loading, Skeleton } from '@/ui/States';
import { toast } from '@/ui/toast';
import { SettingsForm } from './SettingsForm';

/** ProjectSettingsPage edits a project's fields and the defaults of its runs, and archives the project. */
export function ProjectSettingsPage() {
  const { slug } = useParams({ from: '/shell/p/$slug/settings' });
  const { project, isPending, error, refetch } = useFollowed(slug);
  const may = useMay('operator');
  useTitle(project ? `${project.name} settings` : 'Project settings');
  if (project) {
    return (
      <>
        <PageHeader title={`${project.name} settings`} />
        {/* The padding keeps the focused field from being hidden behind the bar with the save button. */}
        <div className="scroll-pb-24 overflow-y-auto">
          <div className="mx-auto flex max-w-2xl flex-col gap-6 p-4 sm:p-6">
            <SettingsForm key={project.id} project={project} />
            {may !== false && <Archive project={project} />}
          </div>
        </div>
      </>
    );
  }
  if (isPending)
    return (
      <Loading className="mx-auto w-full max-w-2xl p-6">
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
      />
    );
  return <NotFound what="project" />;
}

/**
 * useFollowed returns the page's project. When the project's slug changes while the page is open, in this or another
 * browser, the page navigates to the new address.
 */
function useFollowed(slug: string) {
  const query = useProject(slug);
  const navigate = useNavigate();
  const [seen, setSeen] = useState<{ id: string; slug: string } | null>(null);
  const { project: named } = query;
  if (named && (seen?.id !== named.id || seen.slug !== slug)) setSeen({ id: named.id, slug });
  const renamed =
    !named && seen?.slug === slug ? query.data?.find((other) => other.id === seen.id) : undefined;
  useEffect(() => {
    if (renamed) void navigate({ to: '/p/$slug/settings', params: { slug: renamed.slug }, replace: true });
  }, [renamed, navigate]);
  return { ...query, project: named ?? renamed };
}

function Archive({ project }: { project: Project }) {
  const [asking, setAsking] = useState(false);
  const archive = useArchiveProject();
  const navigate = useNavigate();
  const submit = (): void =>
    archive.mutate(project.id, {
      onSuccess: () => {
        toast(`Archived “${project.name}”`);
        void navigate({ to: '/' });
      },
    });
  return (
    <Section title="Archive">
      <div className="flex flex-wrap items-center justify-between gap-4">
        <p className="min-w-0 flex-1 basis-64 text-sm text-ink-2">
          An archived project takes no changes and no new runs. Active runs continue, and everything can still
          be read.
        </p>
        <Button onClick={() => setAsking(true)} className="text-bad!">
          Archive…
        </Button>
      </div>
      <Dialog
        open={asking}
        onClose={() => setAsking(false)}
        title={`Archive “${project.name}”?`}
        description="This cannot be undone."
      >
        {archive.error && (
          <p role="alert" className="mb-3 text-sm text-bad">
            {messageOf(archive.error)}
          </p>
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={() => setAsking(false)}>Keep it</Button>
          <Button variant="danger" busy={archive.isPending} onClick={submit}>
            Archive
          </Button>
        </div>
      </Dialog>
    </Section>
  );
}
