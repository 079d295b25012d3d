import { useNavigate, useParams } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { messageOf } from '@/api/error';
import type { Project } from '@/api/records';
import { NotFound } from '@/components/NotFound';
import { PageHeader } from '@/components/PageHeader';
import { useProject } from '@/components/project';
import { Section } from '@/components/Section';
import { useArchiveProject, useUpdateProject } from '@/data/actions';
import { useTitle } from '@/lib/title';
import { Button } from '@/ui/Button';
import { Field, Input, Textarea } from '@/ui/Field';
import { Dialog } from '@/ui/Overlay';
import { ErrorState, Loading, Skeleton } from '@/ui/States';
import { toast } from '@/ui/toast';

/** ProjectSettingsPage is a project's own facts, and its end. */
export function ProjectSettingsPage() {
  const { slug } = useParams({ from: '/shell/p/$slug/settings' });
  const { project, isPending, error, refetch } = useProject(slug);
  useTitle(project ? `${project.name} settings` : 'Project settings');
  if (project) {
    return (
      <>
        <PageHeader title={`${project.name} settings`} />
        <div className="overflow-y-auto">
          <div className="mx-auto flex max-w-2xl flex-col gap-6 p-4 sm:p-6">
            <Facts key={project.id} project={project} />
            <Archive project={project} />
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

function Facts({ project }: { project: Project }) {
  const [draft, setDraft] = useState({
    name: project.name,
    slug: project.slug,
    description: project.description,
    cwd: project.cwd,
  });
  const update = useUpdateProject();
  const navigate = useNavigate();
  const changed = (Object.keys(draft) as (keyof typeof draft)[]).filter(
    (name) => draft[name] !== project[name],
  );
  const set = (name: keyof typeof draft) => (event: { target: { value: string } }) =>
    setDraft({ ...draft, [name]: event.target.value });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    update.mutate(
      { id: project.id, patch: Object.fromEntries(changed.map((name) => [name, draft[name].trim()])) },
      {
        onSuccess: (saved) => {
          setDraft({ name: saved.name, slug: saved.slug, description: saved.description, cwd: saved.cwd });
          toast.success('Saved');
          if (saved.slug !== project.slug)
            void navigate({ to: '/p/$slug/settings', params: { slug: saved.slug }, replace: true });
        },
      },
    );
  };
  return (
    <Section title="General">
      <form onSubmit={submit} className="flex flex-col gap-4">
        <div className="grid gap-4 sm:grid-cols-2">
          <Field label="Name">
            {(ids) => <Input {...ids} value={draft.name} onChange={set('name')} maxLength={200} required />}
          </Field>
          <Field label="Slug" hint="Its name in links and on the command line.">
            {(ids) => (
              <Input
                {...ids}
                value={draft.slug}
                onChange={set('slug')}
                pattern="[a-z0-9\-]{1,64}"
                required
                className="font-mono text-xs"
              />
            )}
          </Field>
        </div>
        <Field label="Description" optional>
          {(ids) => <Textarea {...ids} value={draft.description} onChange={set('description')} />}
        </Field>
        <Field
          label="Working directory"
          optional
          hint="Where runs begin on their host. Left empty, the worker decides."
        >
          {(ids) => (
            <Input
              {...ids}
              value={draft.cwd}
              onChange={set('cwd')}
              className="font-mono text-xs"
              placeholder="/srv/project"
            />
          )}
        </Field>
        {update.error && (
          <p role="alert" className="text-sm text-bad">
            {messageOf(update.error)}
          </p>
        )}
        <Button
          type="submit"
          variant="primary"
          busy={update.isPending}
          disabled={changed.length === 0}
          className="self-end"
        >
          Save
        </Button>
      </form>
    </Section>
  );
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
          An archived project takes no changes and no new runs. Runs that are under way go on, and everything
          can still be read.
        </p>
        <Button onClick={() => setAsking(true)} className="text-bad!">
          Archive…
        </Button>
      </div>
      <Dialog
        open={asking}
        onClose={() => setAsking(false)}
        title={`Archive “${project.name}”?`}
        description="There is no way back yet."
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
