import { useQuery } from '@tanstack/react-query';
import type { Host } from '@/api/records';
import { Fact, Facts, Mono } from '@/components/Facts';
import { hostState } from '@/components/hostState';
import { Load } from '@/components/Load';
import { versionQuery } from '@/data/queries';
import { bytes } from '@/lib/bytes';
import { exact, span } from '@/lib/time';
import { useNow } from '@/lib/useNow';
import { Badge } from '@/ui/Badge';
import { cx } from '@/ui/cx';
import { RelativeTime } from '@/ui/RelativeTime';

const containments: Record<string, string> = {
  '': 'not known',
  off: 'off: a session may read and write what its worker’s user may',
  bwrap: 'on: bubblewrap keeps each session from the rest of the machine',
};
const scopes: Record<string, string> = {
  '': 'not known',
  off: 'off: runs share the worker’s unit',
  on: 'on: each run is a systemd scope of its own',
};

/** HostFacts shows the facts about a host's machine and worker. */
export function HostFacts({ host }: { host: Host }) {
  const now = useNow();
  const { stale } = hostState(host, now);
  return (
    <Facts>
      <Fact name="Last seen">
        {host.last_seen_at ? (
          <span className={cx(stale && 'text-warn')}>
            <RelativeTime at={host.last_seen_at} />{' '}
            <span className="text-xs text-ink-3">{exact(host.last_seen_at)}</span>
          </span>
        ) : (
          'never'
        )}
      </Fact>
      <Fact name="Connection">
        {host.connected ? (
          'its worker is connected'
        ) : (
          <span className={cx(host.last_seen_at && 'text-warn')}>
            {host.disconnected_since
              ? `not connected for ${span(now - Date.parse(host.disconnected_since))}`
              : 'never was connected'}
          </span>
        )}
      </Fact>
      <Fact name="Load">
        <Load host={host} />
      </Fact>
      <Fact name="Free disk">
        <Disk host={host} now={now} />
      </Fact>
      <Fact name="Platform">{host.platform || 'not known'}</Fact>
      <Fact name="Worker">
        <Version host={host} />
      </Fact>
      <Fact name="Containment">{containments[host.containment] ?? host.containment}</Fact>
      <Fact name="Scopes">{scopes[host.scopes] ?? host.scopes}</Fact>
      {host.clock_ahead_ms !== undefined && (
        <Fact name="Clock">
          <span className="text-warn">
            {span(Math.abs(host.clock_ahead_ms))} {host.clock_ahead_ms > 0 ? 'ahead of' : 'behind'} the
            server’s
          </span>
        </Fact>
      )}
      <Fact name="Status on record">{host.status}</Fact>
      {Object.keys(host.labels).length > 0 && (
        <Fact name="Labels">
          <span className="flex flex-wrap gap-1">
            {Object.entries(host.labels).map(([name, value]) => (
              <Badge key={name}>{`${name}=${value}`}</Badge>
            ))}
          </span>
        </Fact>
      )}
      <Fact name="Id">
        <Mono text={host.id} />
      </Fact>
      {host.instance_id && (
        <Fact name="Worker’s identity">
          <Mono text={host.instance_id} />
        </Fact>
      )}
    </Facts>
  );
}

/** Disk shows the worker's free disk space, and what the worker does when there is too little. */
function Disk({ host, now }: { host: Host; now: number }) {
  const room = host.disk_free_bytes === null ? 'not known' : bytes(host.disk_free_bytes);
  const { refusing } = host;
  if (refusing?.code !== 'disk_low') return <span className="tabular">{room}</span>;
  const wait = Date.parse(refusing.until) - now;
  return (
    <span className="text-warn">
      {room}: {refusing.message}. It takes no new runs
      {wait > 0 ? ` and checks again in ${span(wait)}.` : ' and checks again by itself.'}
    </span>
  );
}

/** Version shows the worker's version, and the server's version if it differs. */
function Version({ host }: { host: Host }) {
  const { data: server } = useQuery(versionQuery);
  if (!host.worker_version) return 'not known';
  return (
    <>
      {host.worker_version}
      {server && server !== host.worker_version && (
        <span className="text-ink-3">, while the server is {server}</span>
      )}
    </>
  );
}
