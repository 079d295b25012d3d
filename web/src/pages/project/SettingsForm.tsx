import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useEffect, useRef } from 'react';
import { fieldErrors, messageOf } from '@/api/error';
import type { Project } from '@/api/records';
import { isShown } from '@/components/modes';
import { Section } from '@/components/Section';
import { FieldConflict, useSaveProject } from '@/data/actions';
import { providersQuery } from '@/data/queries';
import { useMay } from '@/data/role';
import { Button } from '@/ui/Button';
import { Input, Select, Textarea } from '@/ui/Field';
import { toast } from '@/ui/toast';
import { useEdits } from './edits';
import { type Form, Setting } from './Setting';

const mono = 'font-mono text-xs';

/** SettingsForm edits a project's fields. It never overwrites another person's change. */
export function SettingsForm({ project }: { project: Project }) {
  const edits = useEdits(project);
  const save = useSaveProject();
  const may = useMay('operator');
  const errors = fieldErrors(save.error);
  const ref = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (save.error) ref.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus();
  }, [save.error]);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const sent = edits.edits;
    save.mutate(
      { id: project.id, patch: edits.patch, base: edits.base },
      {
        onSuccess: () => {
          edits.saved(sent);
          toast.success('Saved');
        },
      },
    );
  };
  const form: Form = { project, edits, errors, readOnly: may === false };
  return (
    <form ref={ref} onSubmit={submit} noValidate className="flex flex-col gap-6">
      {form.readOnly && (
        <p className="rounded-lg p-3 text-sm tone-info">
          You can read these settings. Changing them needs the role operator.
        </p>
      )}
      <General form={form} />
      <Runs form={form} />
      <WorkingCopies form={form} />
      {(edits.changed.length > 0 || save.error) && (
        <div className="sticky bottom-0 z-10 -mx-1 flex flex-wrap items-center justify-end gap-3 rounded-xl bg-raised p-3 shadow-2 ring-1 ring-line">
          <Outcome
            error={save.error}
            errors={errors}
            changed={edits.changed.length}
            taken={edits.taken.length}
          />
          <Button variant="ghost" onClick={edits.takeAllBack} disabled={edits.changed.length === 0}>
            Discard
          </Button>
          <Button
            type="submit"
            variant="primary"
            busy={save.isPending}
            disabled={edits.changed.length === 0 || edits.taken.length > 0}
          >
            Save
          </Button>
        </div>
      )}
    </form>
  );
}

/** Outcome shows the number of unsaved changes, or the errors and conflicts that keep the form from being saved. */
function Outcome({
  error,
  errors,
  changed,
  taken,
}: {
  error: Error | null;
  errors: Record<string, string>;
  changed: number;
  taken: number;
}) {
  const refused = Object.keys(errors).length;
  const [text, bad] =
    taken > 0
      ? ['Someone else has changed this meanwhile. Choose at the marked fields first.', true]
      : error && !(error instanceof FieldConflict)
        ? [refused > 0 ? 'Nothing was saved. See the marked fields.' : messageOf(error), true]
        : [`${changed} ${changed === 1 ? 'change is' : 'changes are'} not saved.`, false];
  return (
    <p
      role={bad ? 'alert' : undefined}
      className={`min-w-0 flex-1 basis-32 text-sm ${bad ? 'text-bad' : 'text-ink-2'}`}
    >
      {text}
    </p>
  );
}

function General({ form }: { form: Form }) {
  return (
    <Section title="General">
      <div className="grid gap-4 sm:grid-cols-2">
        <Setting form={form} name="name" label="Name">
          {(control) => <Input {...control} />}
        </Setting>
        <Setting form={form} name="slug" label="Slug" hint="Its name in links and on the command line.">
          {(control) => <Input {...control} className={mono} />}
        </Setting>
      </div>
      <Setting form={form} name="description" label="Description" optional>
        {(control) => <Textarea {...control} />}
      </Setting>
    </Section>
  );
}

function Runs({ form }: { form: Form }) {
  const { data: providers = [] } = useQuery(providersQuery);
  const chosen = form.edits.text('provider');
  const ids = providers.filter(isShown).map((each) => each.id);
  if (chosen && !ids.includes(chosen)) ids.push(chosen);
  const usual = providers.find((each) => each.default)?.id;
  return (
    <Section title="Runs" about="For runs that do not set their own values.">
      <div className="grid gap-4 sm:grid-cols-2">
        <Setting form={form} name="provider" label="Provider">
          {(control) => (
            <Select {...control}>
              <option value="">{usual ? `the server’s: ${usual}` : 'none; each run names one'}</option>
              {ids.map((id) => (
                <option key={id}>{id}</option>
              ))}
            </Select>
          )}
        </Setting>
        <Setting form={form} name="model" label="Model" optional hint="Of that provider’s tool.">
          {(control) => <Input {...control} className={mono} />}
        </Setting>
      </div>
      <Setting
        form={form}
        name="cwd"
        label="Working directory"
        optional
        hint="Where runs begin: on their host, or inside their working copy. Left empty, the worker decides."
      >
        {(control) => <Input {...control} className={mono} placeholder="/srv/project" />}
      </Setting>
      <div className="grid gap-4 sm:grid-cols-2">
        <Setting form={form} name="max_runs" label="Runs at once" optional hint="The others wait.">
          {(control) => <Input {...control} type="number" min={0} placeholder="no limit" />}
        </Setting>
        <Setting form={form} name="done_when" label="A task is done when">
          {(control) => (
            <Select {...control}>
              <option value="completed">a run has completed it</option>
              <option value="landed">its work has landed</option>
            </Select>
          )}
        </Setting>
      </div>
    </Section>
  );
}

function WorkingCopies({ form }: { form: Form }) {
  const { project, edits } = form;
  const repo = edits.text('repo').trim();
  // The default that the server would choose: clone for a newly set repository, none without a repository.
  const follows = (repo !== '') === (project.repo !== '') ? project.isolation : repo ? 'clone' : 'none';
  return (
    <Section
      title="Working copies"
      about="With a repository each run works in a copy of its own, and what it writes is kept."
    >
      <Setting
        form={form}
        name="repo"
        label="Repository"
        optional
        hint="A URL, or an absolute path on the hosts."
      >
        {(control) => (
          <Input {...control} className={mono} placeholder="https://example.com/team/project.git" />
        )}
      </Setting>
      <div className="grid gap-4 sm:grid-cols-2">
        <Setting
          form={form}
          name="base"
          label="Base"
          optional
          hint="The branch that new copies are made from."
        >
          {(control) => <Input {...control} className={mono} placeholder="the repository’s default" />}
        </Setting>
        <Setting form={form} name="isolation" label="Isolation" shown={follows}>
          {(control) => (
            <Select {...control}>
              <option value="none">none: runs share the working directory</option>
              <option value="clone">clone: a copy with its own branches and stash</option>
              <option value="worktree">worktree: branches and stash are shared</option>
            </Select>
          )}
        </Setting>
      </div>
      <Setting
        form={form}
        name="setup"
        label="Setup script"
        optional
        hint="Shell commands that run in each new copy, in the run’s terminal, before the agent starts."
      >
        {(control) => <Textarea {...control} className={mono} placeholder="npm ci" spellCheck={false} />}
      </Setting>
      <div className="grid gap-4 sm:grid-cols-2">
        <Setting form={form} name="setup_timeout" label="Setup may take" hint="As in 90s or 10m.">
          {(control) => <Input {...control} className={mono} />}
        </Setting>
        <Setting
          form={form}
          name="keep_days"
          label="Keep for days"
          hint="A copy that has landed or was discarded is removed after that."
        >
          {(control) => <Input {...control} type="number" min={1} />}
        </Setting>
      </div>
    </Section>
  );
}
