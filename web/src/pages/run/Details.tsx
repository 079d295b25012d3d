import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Host, WorkItem } from '@/api/records';
import type { RunDetail } from '@/api/schema.gen';
import { Fact, Facts, Mono } from '@/components/Facts';
import { HostName } from '@/components/HostPill';
import { ItemName } from '@/components/ItemName';
import { failure } from '@/components/runState';
import { Section } from '@/components/Section';
import { WorkspaceLine } from '@/components/WorkspaceLine';
import { hostsQuery } from '@/data/queries';
import { exact, span } from '@/lib/time';
import { CopyButton } from '@/ui/Copy';
import { RelativeTime } from '@/ui/RelativeTime';
import { WaitingHosts } from './WaitingHosts';

/** Details shows every field of a run, and the signals that caused its state. */
export function Details({ run, host, item }: { run: RunDetail; host?: Host; item?: WorkItem }) {
  return (
    <div className="min-h-0 flex-1 overflow-y-auto">
      <div className="mx-auto flex max-w-3xl flex-col gap-6 p-4 sm:p-6">
        {run.status === 'pending' && run.waiting && (
          <Section title="Why it is not running">
            <div className="text-sm text-ink-2">
              <WaitingHosts waiting={run.waiting} />
            </div>
          </Section>
        )}
        <Evidence run={run} />
        <Section title="What it was asked">
          <Facts>
            <Fact name="Work item">
              {item ? (
                <Link to="/t/$id" params={{ id: item.id }} className="text-accent hover:underline">
                  <ItemName item={item} />
                </Link>
              ) : (
                <Mono text={run.task_id} />
              )}
            </Fact>
            <Fact name="Provider">
              {run.provider}
              {run.model && <span className="text-ink-3"> {run.model}</span>}
            </Fact>
            {run.continues_run_id && (
              <Fact name="Continues">
                <Link
                  to="/runs/$runId"
                  params={{ runId: run.continues_run_id }}
                  className="text-accent hover:underline"
                >
                  <Mono text={run.continues_run_id} />
                </Link>
              </Fact>
            )}
            {run.conversation && (
              <Fact name="Conversation">
                <Mono text={run.conversation.id} />
                {run.conversation.resumed === 'yes' && <span className="text-ink-3"> continued</span>}
                {run.conversation.resumed === 'unknown' && (
                  <span className="text-ink-3"> not confirmed by the agent</span>
                )}
              </Fact>
            )}
            {queueWords(run) && <Fact name="Queue">{queueWords(run)}</Fact>}
            <Fact name="Arguments">
              {run.args.length > 0 ? <Mono text={run.args.map(quoted).join(' ')} /> : <None />}
            </Fact>
            <Fact name="Directory">
              {run.cwd ? (
                <Mono text={run.cwd} />
              ) : (
                <None
                  word={run.workspace_id ? 'its working copy' : 'its host’s own default; no folder was named'}
                />
              )}
            </Fact>
            <Fact name="Variables">
              {Object.keys(run.env).length > 0 ? (
                <Mono
                  text={Object.entries(run.env)
                    .map(([name, value]) => `${name}=${value}`)
                    .join('\n')}
                />
              ) : (
                <None />
              )}
            </Fact>
            <Fact name="Host asked for">
              {run.pinned_host_id ? <AskedHost id={run.pinned_host_id} /> : <None word="any" />}
            </Fact>
            <Fact name="Restarts">
              {run.restart_policy === 'never'
                ? 'never'
                : `${run.restart_policy.replace('_', ' ')}, at most ${run.max_restarts}`}
            </Fact>
          </Facts>
          {run.prompt && (
            <div className="relative">
              <pre className="max-h-80 overflow-auto rounded-lg bg-sunken p-3 pr-10 font-mono text-xs whitespace-pre-wrap break-words ring-1 ring-line ring-inset">
                {run.prompt}
              </pre>
              <span className="absolute top-1.5 right-1.5">
                <CopyButton text={run.prompt} label="Copy the prompt" />
              </span>
            </div>
          )}
        </Section>
        <Section title="How it went">
          <Facts>
            <Fact name="Status">{run.status}</Fact>
            <Fact name="Attempt">{run.attempt}</Fact>
            <Fact name="Host">
              {host ? (
                <Link to="/hosts/$hostId" params={{ hostId: host.id }} className="hover:underline">
                  <HostName host={host} />
                </Link>
              ) : (
                <None word="none yet" />
              )}
            </Fact>
            <Fact name="Exit code">{run.exit_code ?? <None />}</Fact>
            <Fact name="Result">
              {run.result ? run.result.replace('_', ' ') : <None />}
              {run.result_reason && <span className="text-ink-3"> {run.result_reason}</span>}
            </Fact>
            {run.status === 'failed' && <Fact name="Why it failed">{failure(run)}</Fact>}
            <Fact name="Last word">
              {run.progress_message ?? <None />}
              {run.progress_percent !== null && (
                <span className="text-ink-3"> {Math.min(100, run.progress_percent)} %</span>
              )}
            </Fact>
            <Fact name="Keyboard">
              {run.lease ? (
                <>
                  someone, since <RelativeTime at={run.lease.attached_at} />
                </>
              ) : (
                'nobody'
              )}
            </Fact>
          </Facts>
        </Section>
        {run.workspace_id && (
          <Section title="Working copy">
            <WorkspaceLine id={run.workspace_id} run={run} />
          </Section>
        )}
        <Section title="Times">
          <Facts>
            <Moment name="Created" at={run.created_at} />
            <Moment name="Pending since" at={run.pending_since} />
            <Moment name="Not before" at={run.next_dispatch_at} />
            <Moment name="Started" at={run.started_at} />
            <Moment name="Last output" at={run.last_output_at} />
            <Moment name="Ended" at={run.ended_at} />
            <Moment name="Session ended" at={run.session_ended_at} />
            <Moment name="Changed" at={run.updated_at} />
          </Facts>
        </Section>
        <Section title="Names">
          <Facts>
            <Fact name="Run">
              <Mono text={run.id} />
            </Fact>
            <Fact name="Session">
              <Mono text={run.session_name} />
            </Fact>
            <Fact name="On the command line">
              <Mono text={`svc attach ${run.id.slice(0, 8)}`} />
            </Fact>
          </Facts>
        </Section>
      </div>
    </div>
  );
}

/** AskedHost shows the name of the host to which a run was pinned. */
function AskedHost({ id }: { id: string }) {
  const { data: hosts } = useQuery(hostsQuery);
  const host = hosts?.find((other) => other.id === id);
  if (!host) return hosts ? <None word="one that was deleted" /> : null;
  return (
    <Link to="/hosts/$hostId" params={{ hostId: id }} className="hover:underline">
      {host.name}
    </Link>
  );
}

const kinds: Record<string, string> = {
  started: 'The session started',
  finished: 'The tool exited',
  completed: 'The work is done',
  failed: 'It failed',
  stopped: 'It was stopped',
  progress: 'Progress',
};
const sources: Record<string, string> = {
  wrapper: 'the wrapper',
  'provider-hook': 'the agent’s hook',
  manual: 'a person',
};
const ways: Record<string, string> = {
  http: 'the signal endpoint',
  uplink: 'the worker’s uplink',
  api: 'the API',
};

/** Evidence shows which signals changed the run's status, and when they were received. */
function Evidence({ run }: { run: RunDetail }) {
  return (
    <Section title="Evidence" about="The signals that caused the statuses of this run.">
      {run.evidence.length === 0 ? (
        <p className="text-sm text-ink-3">
          No signal has arrived yet. The orchestrator itself set the status.
        </p>
      ) : (
        <ol className="-my-1 flex flex-col">
          {run.evidence.map((proof) => {
            const late = Date.parse(proof.received_at) - Date.parse(proof.sent_at);
            return (
              <li
                key={`${proof.attempt} ${proof.kind}`}
                className="flex flex-wrap items-baseline gap-x-2 border-b py-2 text-sm last:border-0"
              >
                <span className="font-medium">{kinds[proof.kind] ?? proof.kind}</span>
                <span className="text-xs text-ink-2">
                  said {sources[proof.source] ?? proof.source}, through {ways[proof.via] ?? proof.via}
                  {run.attempt > 1 && `, attempt ${proof.attempt}`}
                </span>
                <span className="ml-auto text-xs text-ink-3 tabular">
                  received {exact(proof.received_at)}
                  {late > 5000 && `, ${span(late)} after it was sent`}
                </span>
              </li>
            );
          })}
        </ol>
      )}
    </Section>
  );
}

function Moment({ name, at }: { name: string; at: string | null }) {
  return (
    <Fact name={name}>
      {at ? (
        <span className="tabular">
          {exact(at)} <RelativeTime at={at} className="text-xs text-ink-3" />
        </span>
      ) : (
        <None />
      )}
    </Fact>
  );
}

const None = ({ word = 'none' }: { word?: string }) => <span className="text-ink-3">{word}</span>;

const quoted = (arg: string): string =>
  /^[\w./:=@%+,-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", "'\\''")}'`;

/** queueWords describes how a run waits, as far as it differs from the defaults. */
function queueWords(run: RunDetail): string {
  return [
    run.priority !== 0 && `priority ${run.priority}`,
    run.wait && 'waits as long as it takes',
    run.not_before && `not before ${exact(run.not_before)}`,
    ...Object.entries(run.host_labels).map(([name, value]) => `on hosts with ${name}=${value}`),
    run.ignore_needs && 'whatever its task needs',
  ]
    .filter(Boolean)
    .join(', ');
}
