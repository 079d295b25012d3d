import { Link } from '@tanstack/react-router';
import { CircleCheck, CircleX, Hand, Hourglass, Info, Keyboard, ScrollText, Square } from 'lucide-react';
import type { ReactNode } from 'react';
import { type Host, isActive } from '@/api/records';
import type { RunDetail } from '@/api/schema.gen';
import { Reason } from '@/components/Reason';
import { canAttach, failure, quietAfter } from '@/components/runState';
import { span } from '@/lib/time';
import { useNow } from '@/lib/useNow';
import { type Tone, tones } from '@/ui/Badge';
import { Button } from '@/ui/Button';
import { Command } from '@/ui/Copy';
import { cx } from '@/ui/cx';
import { WaitingHosts } from './WaitingHosts';

/** Banners shows strips above the terminal for what needs a person: a question, a wait, a long silence, an end. */
export function Banners({
  run,
  host,
  attached,
  onAttach,
}: {
  run: RunDetail;
  host?: Host;
  attached: boolean;
  onAttach(): void;
}) {
  const now = useNow();
  if (run.status === 'pending' && run.waiting) {
    return (
      <Banner tone="neutral" icon={<Hourglass className="size-4" />} title="It waits for a host">
        <WaitingHosts waiting={run.waiting} />
      </Banner>
    );
  }
  if (!isActive(run)) return <Ended run={run} host={host} />;
  if (run.needs_input) {
    return (
      <Banner
        tone="warn"
        icon={<Hand className="size-4" />}
        title="The agent waits for you"
        action={
          !attached &&
          canAttach(run, host) && (
            <Button size="sm" variant="primary" icon={<Keyboard className="size-3.5" />} onClick={onAttach}>
              Answer
            </Button>
          )
        }
      >
        {run.progress_message && <p className="text-sm text-ink">{run.progress_message}</p>}
      </Banner>
    );
  }
  if (run.status === 'running' && !canAttach(run, host)) {
    return (
      <Banner tone="warn" icon={<Info className="size-4" />} title={`${host?.name} is offline`}>
        <p>
          This is the last known screen. The agent may still be working. You can watch it and attach to it
          when its host is back.
        </p>
      </Banner>
    );
  }
  const quiet = run.last_output_at ? now - Date.parse(run.last_output_at) : 0;
  if (run.hint || (run.status === 'running' && quiet >= quietAfter)) {
    return (
      <Banner
        tone="neutral"
        icon={<Info className="size-4" />}
        title={run.hint ?? `Quiet for ${span(quiet)}`}
      >
        {!run.hint && (
          <p>
            No output and no signal from a hook. The agent may be thinking, or waiting for a person. Look at
            its screen to find out.
          </p>
        )}
      </Banner>
    );
  }
  return null;
}

function Ended({ run, host }: { run: RunDetail; host?: Host }) {
  const failed = run.status === 'failed';
  const stopped = run.status === 'stopped';
  const missing = failed && run.error !== null && run.started_at === null;
  return (
    <Banner
      tone={failed ? 'bad' : stopped ? 'neutral' : 'ok'}
      icon={
        failed ? (
          <CircleX className="size-4" />
        ) : stopped ? (
          <Square className="size-3.5" />
        ) : (
          <CircleCheck className="size-4" />
        )
      }
      title={
        failed
          ? 'It failed'
          : stopped
            ? 'Someone stopped it'
            : run.result === 'partial_success'
              ? 'It finished in part'
              : 'It finished'
      }
      action={
        <Link
          to="/runs/$runId"
          params={{ runId: run.id }}
          search={{ tab: 'log' }}
          className="inline-flex h-7 items-center gap-1.5 rounded-md px-2.5 text-xs font-medium text-ink-2 hover:bg-hover hover:text-ink"
        >
          <ScrollText className="size-3.5" /> Log
        </Link>
      }
    >
      <Reason text={[failed ? failure(run) : exitWords(run), run.result_reason].filter(Boolean).join(' ')} />
      {missing && (
        <div className="mt-1.5 flex max-w-lg flex-col gap-1 text-ink">
          <span className="text-ink-2">{host ? `On ${host.name}, this` : 'This'} says what is missing:</span>
          <Command line={`svc provider doctor ${run.provider}`} />
        </div>
      )}
    </Banner>
  );
}

function exitWords(run: RunDetail): string {
  return run.exit_code === null ? '' : `Exit code ${run.exit_code}.`;
}

/** Banner is a strip above the terminal. */
function Banner({
  tone,
  icon,
  title,
  action,
  children,
}: {
  tone: Tone;
  icon: ReactNode;
  title: string;
  action?: ReactNode;
  children?: ReactNode;
}) {
  return (
    <div role="status" className="flex flex-wrap items-start gap-x-3 gap-y-2 border-b px-4 py-2.5 sm:px-5">
      <span className={cx('flex size-6 shrink-0 items-center justify-center rounded-md', tones[tone])}>
        {icon}
      </span>
      <div className="min-w-0 flex-1 basis-56">
        <h2 className="text-sm leading-6 font-semibold">{title}</h2>
        {children && <div className="text-xs text-ink-2">{children}</div>}
      </div>
      {action && <div className="flex items-center gap-1.5">{action}</div>}
    </div>
  );
}
