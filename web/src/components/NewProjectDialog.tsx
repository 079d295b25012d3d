import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { fieldErrors, messageOf } from '@/api/error';
import { useCreateProject } from '@/data/actions';
import { Button } from '@/ui/Button';
import { Field, Input } from '@/ui/Field';
import { Dialog } from '@/ui/Overlay';

/** NewProjectDialog creates a project and navigates to its board. */
export function NewProjectDialog({ open, onClose }: { open: boolean; onClose(): void }) {
  return (
    <Dialog
      open={open}
      onClose={onClose}
      title="New project"
      description="A board, a tree of work, and the runs on it."
    >
      <Form onClose={onClose} />
    </Dialog>
  );
}

function Form({ onClose }: { onClose(): void }) {
  const [name, setName] = useState('');
  const [repo, setRepo] = useState('');
  const [cwd, setCwd] = useState('');
  const create = useCreateProject();
  // An error of a field is shown at that field, and any other error at the name.
  const { repo: repoError, cwd: cwdError } = fieldErrors(create.error);
  const nameError = create.error && !repoError && !cwdError ? messageOf(create.error) : null;
  const navigate = useNavigate();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    create.mutate(
      { name: name.trim(), repo: repo.trim(), cwd: cwd.trim() },
      {
        onSuccess: (project) => {
          onClose();
          void navigate({ to: '/p/$slug/board', params: { slug: project.slug }, search: {} });
        },
      },
    );
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <Field label="Name" error={nameError}>
        {(ids) => (
          <Input
            {...ids}
            value={name}
            onChange={(event) => setName(event.target.value)}
            maxLength={200}
            required
            placeholder="Checkout rewrite"
          />
        )}
      </Field>
      <Field
        label="Repository"
        optional
        hint="A URL, or an absolute path on the hosts. Each run then works in a copy of its own, and what it changes can be read and landed."
        error={repoError}
      >
        {(ids) => (
          <Input
            {...ids}
            value={repo}
            onChange={(event) => setRepo(event.target.value)}
            className="font-mono text-xs"
            placeholder="https://example.com/team/project.git"
          />
        )}
      </Field>
      <Field
        label="Working directory"
        optional
        hint="Where runs begin: on their host, or inside their copy. Left empty, the worker decides."
        error={cwdError}
      >
        {(ids) => (
          <Input
            {...ids}
            value={cwd}
            onChange={(event) => setCwd(event.target.value)}
            className="font-mono text-xs"
            placeholder={repo.trim() ? 'services/checkout' : '/srv/checkout'}
          />
        )}
      </Field>
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" variant="primary" busy={create.isPending} disabled={name.trim() === ''}>
          Create project
        </Button>
      </div>
    </form>
  );
}
