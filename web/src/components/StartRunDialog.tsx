import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { ChevronRight, Play } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import { messageOf } from '@/api/error';
import type { Host, Provider, RestartPolicy } from '@/api/records';
import { useStartRuns } from '@/data/actions';
import { hostsQuery, projectsQuery, providersQuery } from '@/data/queries';
import { splitArgs } from '@/lib/args';
import { useDraft } from '@/lib/drafts';
import { randomKey } from '@/lib/id';
import { setPref, usePrefs } from '@/lib/prefs';
import { Button } from '@/ui/Button';
import { Command } from '@/ui/Copy';
import { Field, Input, Select, Textarea } from '@/ui/Field';
import { Dialog } from '@/ui/Overlay';
import { Segmented } from '@/ui/Segmented';
import { toast } from '@/ui/toast';
import { type Contender, Contenders } from './Contenders';
import { modelFor, preferred } from './modes';
import { promptFor, useStartRunDialog } from './startRun';
import { ToolSelect } from './ToolSelect';

const policies: { value: RestartPolicy; label: string }[] = [
  { value: 'never', label: 'Never' },
  { value: 'on_failure', label: 'When it failed' },
  { value: 'always', label: 'Always' },
];

/** StartRunDialog is the form for a new run. openStartRun opens it from anywhere. */
export function StartRunDialog() {
  const seed = useStartRunDialog((state) => state.seed);
  const close = (): void => useStartRunDialog.setState({ seed: null });
  return (
    <Dialog
      open={seed !== null}
      onClose={close}
      title={seed?.again ? 'Run again' : seed?.wait ? 'Queue a run' : 'Start a run'}
      description={seed && `On “${seed.item.title}”`}
    >
      {seed && <Form key={seed.item.id} onClose={close} />}
    </Dialog>
  );
}

function Form({ onClose }: { onClose(): void }) {
  const seed = useStartRunDialog((state) => state.seed);
  const again = seed?.again;
  const last = usePrefs((prefs) => prefs.lastRun);
  const { data: providers = [] } = useQuery(providersQuery);
  const { data: hosts = [] } = useQuery(hostsQuery);
  const { data: projects = [] } = useQuery(projectsQuery);
  const project = projects.find((each) => each.id === seed?.item.project_id);
  const [provider, setProvider] = useState(again?.provider ?? '');
  const [host, setHost] = useState(again?.pinned_host_id ?? '');
  const [typedModel, setModel] = useState(again?.model);
  const [given] = useState(again?.prompt ?? (seed ? promptFor(seed.item) : ''));
  // A prompt that was edited but not used is restored when the form is opened again.
  const changed = useDraft(`prompt.${seed?.item.id}`);
  const prompt = changed.draft?.text ?? given;
  const [args, setArgs] = useState(
    again?.args
      .map((arg) => (/^[\w./:=-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", "'\\''")}'`))
      .join(' ') ?? '',
  );
  const [cwd, setCwd] = useState(again?.cwd ?? '');
  const [policy, setPolicy] = useState<RestartPolicy>(again?.restart_policy ?? 'never');
  const [restarts, setRestarts] = useState(String(again?.max_restarts || 3));
  const [contenders, setContenders] = useState<Contender[]>([]);
  // One key per opened form: a second click on Start cannot start a second run.
  const [key] = useState(randomKey);
  const start = useStartRuns();
  const navigate = useNavigate();
  if (!seed) return null;

  const chosen = preferred(providers, provider, project?.provider, last?.provider);
  const model = typedModel ?? modelFor(chosen, project, last);
  const parsed = splitArgs(args);
  const pinned = hosts.find((each) => each.id === host);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!chosen || parsed === null) return;
    setPref('lastRun', { provider: chosen.id, model });
    start.mutate(
      {
        key,
        again: again?.id,
        body: {
          task_id: seed.item.id,
          host_id: host || null,
          prompt,
          args: parsed,
          cwd,
          restart_policy: policy,
          ...(seed.wait && { wait: true }),
          ...(policy === 'never' ? {} : { max_restarts: Number(restarts) }),
        },
        with: [
          { provider: chosen.id, model },
          ...contenders.map((each) => ({
            provider: preferred(providers, each.tool)?.id ?? each.tool,
            model: each.model,
          })),
        ],
      },
      {
        onSuccess: ([run, ...others]) => {
          changed.drop();
          onClose();
          if (others.length > 0) {
            toast.success(`${others.length + 1} runs are queued`, {
              description: 'Each begins as soon as a host takes it.',
              action: {
                label: 'Compare',
                onClick: () =>
                  void navigate({ to: '/t/$id', params: { id: seed.item.id }, search: { tab: 'compare' } }),
              },
            });
            return;
          }
          if (!run) return;
          toast.success('The run is queued', {
            description: obstacleOf(pinned)
              ? `It waits for ${pinned?.name}, which is ${obstacleOf(pinned)}.`
              : 'It begins as soon as a host takes it.',
            action: {
              label: 'Watch',
              onClick: () => void navigate({ to: '/runs/$runId', params: { runId: run.id } }),
            },
          });
        },
      },
    );
  };

  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label="Provider">
          {(ids) => (
            <ToolSelect
              {...ids}
              providers={providers}
              value={chosen?.tool ?? ''}
              onChange={(event) => setProvider(event.target.value)}
            />
          )}
        </Field>
        <Field label="Host">
          {(ids) => (
            <Select {...ids} value={host} onChange={(event) => setHost(event.target.value)}>
              <option value="">Any that fits</option>
              {hosts.map((each) => (
                <option key={each.id} value={each.id}>
                  {each.name}
                  {obstacleOf(each) && ` (${obstacleOf(each)})`}
                </option>
              ))}
            </Select>
          )}
        </Field>
      </div>
      {chosen && <Mode chosen={chosen} providers={providers} onChange={setProvider} />}
      {chosen && <Readiness provider={chosen} hosts={hosts} hostId={host} />}
      {again && Object.keys(again.env).length > 0 && (
        <p className="text-xs text-ink-3">
          Its environment variables are copied: {Object.keys(again.env).sort().join(', ')}.
        </p>
      )}
      {project?.cwd === '' && <Folder cwd={cwd} onChange={setCwd} asked />}
      <Field
        label="Prompt"
        optional
        hint={
          changed.draft && (
            <>
              Changed by you, and kept until it is used.{' '}
              <button type="button" onClick={changed.drop} className="text-accent hover:underline">
                Reset to the task’s own prompt
              </button>
            </>
          )
        }
      >
        {(ids) => (
          <Textarea
            {...ids}
            value={prompt}
            onChange={(event) => changed.write(event.target.value, given)}
            className="min-h-28 font-mono text-xs"
          />
        )}
      </Field>
      <details className="group rounded-lg ring-1 ring-line ring-inset">
        <summary className="flex h-9 list-none items-center gap-1.5 px-3 text-sm text-ink-2 hover:text-ink">
          <ChevronRight className="size-3.5 transition-transform group-open:rotate-90" />
          Model, arguments, directory, restarts
        </summary>
        <div className="grid gap-4 border-t p-3 sm:grid-cols-2">
          <Field label="Model" optional>
            {(ids) => (
              <Input
                {...ids}
                value={model}
                onChange={(event) => setModel(event.target.value)}
                placeholder="The tool's own"
              />
            )}
          </Field>
          <Field label="Arguments" optional error={parsed === null ? 'A quote is not closed.' : null}>
            {(ids) => (
              <Input
                {...ids}
                value={args}
                onChange={(event) => setArgs(event.target.value)}
                className="font-mono text-xs"
                placeholder="--flag 'a value'"
              />
            )}
          </Field>
          {project?.cwd !== '' && <Folder cwd={cwd} onChange={setCwd} />}
          <div className="grid grid-cols-[1fr_5rem] gap-2">
            <Field label="Restart">
              {(ids) => (
                <Select
                  {...ids}
                  value={policy}
                  onChange={(event) => setPolicy(event.target.value as RestartPolicy)}
                >
                  {policies.map((each) => (
                    <option key={each.value} value={each.value}>
                      {each.label}
                    </option>
                  ))}
                </Select>
              )}
            </Field>
            <Field label="At most">
              {(ids) => (
                <Input
                  {...ids}
                  type="number"
                  min={0}
                  max={1000}
                  value={restarts}
                  disabled={policy === 'never'}
                  onChange={(event) => setRestarts(event.target.value)}
                />
              )}
            </Field>
          </div>
        </div>
      </details>
      <Contenders
        contenders={contenders}
        providers={providers}
        first={chosen?.tool ?? ''}
        onChange={setContenders}
      />
      {start.error && (
        <p role="alert" className="text-sm text-bad">
          {messageOf(start.error)}
          {start.started > 0 &&
            contenders.length > 0 &&
            ` ${startedOf(start.started, contenders.length + 1)}`}
        </p>
      )}
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button
          type="submit"
          variant="primary"
          icon={<Play className="size-3.5 fill-current" />}
          busy={start.isPending}
          disabled={!chosen || parsed === null}
        >
          {seed.wait ? 'Queue' : 'Start'}
          {contenders.length > 0 && ` ${contenders.length + 1} runs`}
        </Button>
      </div>
    </form>
  );
}

/** startedOf describes how many of the requested runs were started. */
const startedOf = (started: number, all: number): string =>
  `${started === 1 ? 'The first' : `The first ${started}`} of ${all} runs ${started === 1 ? 'was' : 'were'} started, and will not be started twice.`;

/** Mode chooses one of the modes of a tool that has two. */
function Mode({
  chosen,
  providers,
  onChange,
}: {
  chosen: Provider;
  providers: Provider[];
  onChange(id: string): void;
}) {
  const modes = providers.filter((each) => each.tool === chosen.tool);
  if (modes.length < 2) return null;
  return (
    <Segmented
      label="Mode"
      value={chosen.id}
      onChange={onChange}
      options={modes.map((each) => ({
        value: each.id,
        label: each.interactive ? 'Interactive, to attach to' : 'Works through the prompt and ends',
      }))}
    />
  );
}

/**
 * Folder edits the agent's working directory. In a project without a folder it is shown without opening the options.
 */
function Folder({ cwd, onChange, asked }: { cwd: string; onChange(cwd: string): void; asked?: boolean }) {
  return (
    <Field
      label="Working directory"
      optional
      hint={
        asked
          ? 'The project has none. Left empty, the agent works in its host’s own default folder, often the home.'
          : undefined
      }
    >
      {(ids) => (
        <Input
          {...ids}
          value={cwd}
          onChange={(event) => onChange(event.target.value)}
          className="font-mono text-xs"
          placeholder={asked ? '/srv/checkout' : 'The project’s'}
        />
      )}
    </Field>
  );
}

/** obstacleOf returns why a host takes no new run now; empty: it takes new runs. */
const obstacleOf = (host: Host | undefined): string =>
  !host ? '' : host.status !== 'online' ? host.status : host.instance_suspect ? 'suspect' : '';

/** Readiness warns, before the start, of a run that would fail or wait. It shows the command that finds the reason. */
function Readiness({ provider, hosts, hostId }: { provider: Provider; hosts: Host[]; hostId: string }) {
  const report = hostId ? provider.hosts[hostId] : undefined;
  const online = hosts.filter((host) => host.status === 'online' && !host.instance_suspect);
  const missing = hostId
    ? report?.available === false
    : online.length > 0 && !online.some((host) => provider.hosts[host.id]?.available);
  const pinned = hosts.find((host) => host.id === hostId);
  if (obstacleOf(pinned)) {
    return (
      <p className="rounded-lg px-3 py-2 text-xs tone-warn">
        {pinned?.name} is {obstacleOf(pinned)} and takes no new runs. The run waits for it, and fails when it
        does not come back in time.
      </p>
    );
  }
  if (!missing && online.length > 0) return null;
  if (online.length === 0) {
    return (
      <p className="rounded-lg px-3 py-2 text-xs tone-warn">
        No host is online. The run waits for one and fails when none comes in time.
      </p>
    );
  }
  return (
    <div className="flex flex-col gap-2 rounded-lg px-3 py-2 text-xs tone-warn">
      <span>
        {hostId
          ? `${report?.host_name} does not have ${provider.name}`
          : `No online host has ${provider.name}`}
        {report?.reason ? `: ${report.reason}` : ''}. The run would fail to start. Run this on the host to see
        why:
      </span>
      <span className="text-ink">
        <Command line={`svc provider doctor ${provider.id}`} />
      </span>
    </div>
  );
}
