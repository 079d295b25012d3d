import { Link } from '@tanstack/react-router';
import type { Waiting } from '@/api/schema.gen';
import { hostReasons } from '@/components/waiting';
import { exact, span } from '@/lib/time';
import { useNow } from '@/lib/useNow';
import { cx } from '@/ui/cx';
import { tip } from '@/ui/Tooltip';

/** WaitingHosts is why a pending run does not run: every host with its reason, and when the wait ends. */
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
        <ul className="flex flex-col gap-0.5">
          {waiting.hosts.map((host) => (
            <li key={host.host_id} className="flex gap-2">
              <Link
                to="/hosts/$hostId"
                params={{ hostId: host.host_id }}
                className="min-w-20 font-medium text-ink hover:underline"
              >
                {host.name}
              </Link>
              <span className={cx(host.why === 'eligible' && 'text-ok')}>{hostReasons[host.why]}</span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
