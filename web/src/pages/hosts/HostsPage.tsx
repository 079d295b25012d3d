import { useQuery } from '@tanstack/react-query';
import { Plus, Server } from 'lucide-react';
import { useState } from 'react';
import { messageOf } from '@/api/error';
import type { Host } from '@/api/records';
import { takesRuns } from '@/components/hostState';
import { PageHeader } from '@/components/PageHeader';
import { hostsQuery } from '@/data/queries';
import { useMay } from '@/data/role';
import { useTitle } from '@/lib/title';
import { Button } from '@/ui/Button';
import { EmptyState, ErrorState, Loading, Skeleton } from '@/ui/States';
import { AddHostDialog } from './AddHostDialog';
import { HostList } from './HostList';

/** How often the hosts are read while the page is open, in ms, because no event reports a heartbeat. */
export const heartbeatLook = 10_000;

/** HostsPage shows all hosts, the worst first unless the user chooses another order. */
export function HostsPage() {
  useTitle('Hosts');
  const [adding, setAdding] = useState(false);
  const { data: hosts, error, refetch } = useQuery({ ...hostsQuery, refetchInterval: heartbeatLook });
  const admin = useMay('admin');
  const add = admin !== false && (
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
          <HostList hosts={hosts} />
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
  const taking = hosts.filter(takesRuns).length;
  return (
    <span className="text-xs text-ink-3 tabular">
      {taking} of {hosts.length} take runs
    </span>
  );
}
