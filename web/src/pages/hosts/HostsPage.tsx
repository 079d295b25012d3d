import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { Plus, Search, Server } from 'lucide-react';
import { useLayoutEffect, useRef, useState } from 'react';
import { messageOf } from '@/api/error';
import type { Host } from '@/api/records';
import { takesRuns } from '@/components/hostState';
import { PageHeader } from '@/components/PageHeader';
import { hostsQuery } from '@/data/queries';
import { useMay } from '@/data/role';
import { useKeptScroll } from '@/lib/kept';
import { useTitle } from '@/lib/title';
import { Button } from '@/ui/Button';
import { Input } from '@/ui/Field';
import { OrderSelect } from '@/ui/OrderSelect';
import { EmptyState, ErrorState, Loading, Skeleton } from '@/ui/States';
import { AddHostDialog } from './AddHostDialog';
import { arrange, orders } from './arrange';
import { HostRow } from './HostRow';

/** How often heartbeats are looked at while the page is open; the journal does not tell them. */
export const heartbeatLook = 10_000;

/** HostsPage is the fleet, the worst first unless someone wants another order. */
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

/** HostList is the hosts that fit a search, in an order; both are in the address. */
function HostList({ hosts }: { hosts: Host[] }) {
  const search = useSearch({ from: '/shell/hosts' });
  const navigate = useNavigate({ from: '/hosts' });
  const [text, setText] = useState(search.q ?? '');
  const scroller = useRef<HTMLDivElement>(null);
  const { initialOffset, onScroll } = useKeptScroll('hosts');
  useLayoutEffect(() => {
    scroller.current?.scrollTo(0, initialOffset);
  }, [initialOffset]);
  const find = (next: string): void => {
    setText(next);
    void navigate({ search: { ...search, q: next || undefined }, replace: true });
  };
  const shown = arrange(hosts, text, search.sort);
  return (
    <>
      <div className="flex flex-wrap items-center gap-2 border-b px-4 py-2 sm:px-5">
        <div className="min-w-40 flex-1 sm:max-w-80">
          <Input
            type="search"
            aria-label="Search hosts"
            placeholder="Name, label, provider, state"
            value={text}
            onChange={(event) => find(event.target.value)}
          />
        </div>
        <div className="w-48">
          <OrderSelect
            label="Order of hosts"
            orders={orders}
            value={search.sort}
            onChange={(sort) => void navigate({ search: { ...search, sort }, replace: true })}
          />
        </div>
        <span role="status" className="text-xs text-ink-3 tabular">
          {text.trim() && `${shown.length} of ${hosts.length} fit`}
        </span>
      </div>
      <div ref={scroller} onScroll={onScroll} className="min-h-0 flex-1 overflow-y-auto">
        {shown.length > 0 ? (
          <ul aria-label="Hosts">
            {shown.map((host) => (
              <li key={host.id}>
                <HostRow host={host} />
              </li>
            ))}
          </ul>
        ) : (
          <EmptyState
            icon={<Search className="size-5" />}
            title="No host fits the search"
            action={<Button onClick={() => find('')}>Show all {hosts.length}</Button>}
          >
            There are {hosts.length} hosts, and none has all of these words.
          </EmptyState>
        )}
      </div>
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
