import { Link } from '@tanstack/react-router';
import type { Waiting } from '@/api/schema.gen';
import { exact, span } from '@/lib/time';
import { useNow } from '@/lib/useNow';
import { cx } from '@/ui/cx';
import { tip } from '@/ui/Tooltip';

type Why = Waiting['hosts'][number]['why'];

const reasons: Record<Why, string> = {
  other_host_pinned: 'the run is pinned to another host',
  labels_missing: 'it does not have the labels that the run asks for',
  never_seen: 'no worker has joined as it yet',
  offline: 'offline',
  disabled: 'disabled: it gets no new runs',
  suspect: 'suspect: two workers claim to be it',
  cooling_down: 'it cannot start runs and takes none for now',
  disk_low: 'it has too little disk space free',
  no_workspaces: 'its worker cannot make working copies',
  not_connected: 'its worker is not connected now',
  full: 'full: as many runs as it may have',
  unconfirmed: 'it has not confirmed the runs it was given',
  refused: 'it refused this attempt',
  provider_missing: 'it does not have the provider',
  eligible: 'eligible',
};

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
              <span className={cx(host.why === 'eligible' && 'text-ok')}>{reasons[host.why]}</span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
