import { Link } from '@tanstack/react-router';
import type { Waiting } from '@/api/schema.gen';
import { type Blocker, blockersOf, hostCount, hostReasons } from '@/components/waiting';
import { exact, span } from '@/lib/time';
import { useNow } from '@/lib/useNow';
import { cx } from '@/ui/cx';
import { tip } from '@/ui/Tooltip';

/** How many hosts are named for each reason. */
const mostNames = 4;

/**
 * WaitingHosts shows why a run is pending: the reasons, the hosts to which each applies, and when the run times out.
 */
export function WaitingHosts({ waiting }: { waiting: Waiting }) {
  const now = useNow();
  const timesOut = waiting.times_out_at;
  const left = timesOut ? Date.parse(timesOut) - now : 0;
  const backoff = waiting.not_before ? Date.parse(waiting.not_before) - now : 0;
  return (
    <div className="flex flex-col gap-1.5">
      <p>
        {backoff > 0 && `It begins again in ${span(backoff)} at the earliest. `}
        {waiting.position != null && `It is number ${waiting.position} in the queue. `}
        {timesOut && left > 0 && (
          <span {...tip(exact(timesOut))}>If no host takes it, it fails in {span(left)}.</span>
        )}
        {timesOut && left <= 0 && 'Its time is over; it fails any moment.'}
      </p>
      {waiting.why.map((hold) => (
        <p key={hold.code}>It waits: {hold.message}.</p>
      ))}
      {waiting.hosts.length === 0 ? (
        <p>
          There is no host at all.{' '}
          <Link to="/hosts" className="text-accent hover:underline">
            Add one
          </Link>
          .
        </p>
      ) : (
        <Blockers waiting={waiting} />
      )}
    </div>
  );
}

function Blockers({ waiting }: { waiting: Waiting }) {
  const { blockers, unfit } = blockersOf(waiting);
  const unlisted = waiting.hosts_total - waiting.hosts.length;
  return (
    <>
      <ul aria-label="What blocks it" className="flex flex-col gap-0.5">
        {blockers.map((blocker) => (
          <BlockerLine key={blocker.why} {...blocker} />
        ))}
      </ul>
      {unfit > 0 && <p className="text-ink-3">{hostCount(unfit)} more could never take it.</p>}
      {unlisted > 0 && (
        <p className="text-ink-3">
          {waiting.hosts.length} of {waiting.hosts_total} hosts are listed here.
        </p>
      )}
    </>
  );
}

function BlockerLine({ why, hosts }: Blocker) {
  return (
    <li className="flex flex-wrap gap-x-2">
      {hosts.slice(0, mostNames).map((host) => (
        <Link
          key={host.host_id}
          to="/hosts/$hostId"
          params={{ hostId: host.host_id }}
          className="font-medium text-ink hover:underline"
        >
          {host.name}
        </Link>
      ))}
      {hosts.length > mostNames && (
        <span className="font-medium text-ink">and {hosts.length - mostNames} more</span>
      )}
      <span className={cx(why === 'eligible' && 'text-ok')}>{hostReasons[why]}</span>
    </li>
  );
}
