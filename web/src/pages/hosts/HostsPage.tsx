import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Plus, Server } from 'lucide-react';
import { useState } from 'react';
import { messageOf } from '@/api/error';
import type { Host } from '@/api/records';
import { HostPill } from '@/components/HostPill';
import { hostState, worstFirst } from '@/components/hostState';
import { Load } from '@/components/Load';
import { PageHeader } from '@/components/PageHeader';
import { hostsQuery } from '@/data/queries';
import { useTitle } from '@/lib/title';
import { useNow } from '@/lib/useNow';
import { Badge } from '@/ui/Badge';
import { Button } from '@/ui/Button';
import { cx } from '@/ui/cx';
import { RelativeTime } from '@/ui/RelativeTime';
import { EmptyState, ErrorState, Loading, Skeleton } from '@/ui/States';
import { AddHostDialog } from './AddHostDialog';

/** How often heartbeats are looked at while the page is open; the journal does not tell them. */
export const heartbeatLook = 10_000;

/** HostsPage is the fleet, the worst first. */
export function HostsPage() {
  useTitle('Hosts');
  const [adding, setAdding] = useState(false);
  const { data: hosts, error, refetch } = useQuery({ ...hostsQuery, refetchInterval: heartbeatLook });
  const add = (
    <Button variant="primary" icon={<Plus className="size-4" />} onClick={() => setAdding(true)}>
      Add a host
    </Button>
  );
  return (
    <>
      <PageHeader title="Hosts" lead={hosts && <Summary hosts={hosts} />}>
        {add}
      </PageHeader>
      {hosts ? (
        hosts.length > 0 ? (
          <div className="min-h-0 flex-1 overflow-y-auto">
            <ul>
              {[...hosts].sort(worstFirst).map((host) => (
                <li key={host.id}>
                  <HostRow host={host} />
                </li>
              ))}
            </ul>
          </div>
        ) : (
          <EmptyState
            icon={<Server className="size-5" />}
            title="No hosts yet"
            className="pt-[12vh]"
            action={add}
          >
            A host is a machine on which agents run. Its worker connects to this server, so it needs no open
            port.
          </EmptyState>
        )
      ) : error ? (
        <ErrorState
          title="The hosts could not be read"
          message={messageOf(error)}
          retry={() => void refetch()}
          className="pt-[12vh]"
        />
      ) : (
        <Loading label="Loading the hosts" className="flex flex-col gap-2 p-5">
          <Skeleton className="h-14" />
          <Skeleton className="h-14" />
        </Loading>
      )}
      {adding && <AddHostDialog onClose={() => setAdding(false)} />}
    </>
  );
}

function Summary({ hosts }: { hosts: Host[] }) {
  const online = hosts.filter((host) => host.status === 'online' && !host.instance_suspect).length;
  return (
    <span className="text-xs text-ink-3 tabular">
      {online} of {hosts.length} take runs
    </span>
  );
}

function HostRow({ host }: { host: Host }) {
  const { stale } = hostState(host, useNow());
  const reports = Object.entries(host.providers);
  const available = reports.filter(([, report]) => report.available).map(([id]) => id);
  return (
    <Link
      to="/hosts/$hostId"
      params={{ hostId: host.id }}
      className="grid min-h-15 grid-cols-[1fr_auto] items-center gap-x-5 gap-y-1.5 border-b px-4 py-2.5 hover:bg-hover sm:grid-cols-[7rem_minmax(8rem,14rem)_8rem_1fr_7rem] sm:px-5"
    >
      <span className="max-sm:order-2 max-sm:justify-self-end">
        <HostPill host={host} />
      </span>
      <span className="flex min-w-0 flex-col max-sm:order-1">
        <span className="truncate text-sm font-medium">{host.name}</span>
        <span className="truncate text-xs text-ink-3">
          {[host.platform, host.worker_version].filter(Boolean).join(' · ') || 'waits for its worker'}
        </span>
      </span>
      <span className="max-sm:order-3">
        <Load host={host} />
      </span>
      <span className="flex min-w-0 flex-wrap gap-1 max-sm:order-5 max-sm:col-span-2">
        {available.map((id) => (
          <Badge key={id} tone="ok">
            {id}
          </Badge>
        ))}
        {reports.length > available.length && <Badge>{reports.length - available.length} missing</Badge>}
      </span>
      <span className={cx('text-right text-xs tabular max-sm:order-4', stale ? 'text-warn' : 'text-ink-3')}>
        {host.last_seen_at ? (
          <>
            seen <RelativeTime at={host.last_seen_at} />
          </>
        ) : (
          'never seen'
        )}
      </span>
    </Link>
  );
}
