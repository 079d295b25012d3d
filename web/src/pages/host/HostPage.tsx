import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { ChevronRight } from 'lucide-react';
import { messageOf } from '@/api/error';
import { type Host, isActive } from '@/api/records';
import { History } from '@/components/History';
import { HostPill } from '@/components/HostPill';
import { hostState } from '@/components/hostState';
import { NotFound } from '@/components/NotFound';
import { Reason } from '@/components/Reason';
import { Section } from '@/components/Section';
import { hostsQuery, runsQuery } from '@/data/queries';
import { useMay } from '@/data/role';
import { useTitle } from '@/lib/title';
import { useNow } from '@/lib/useNow';
import { Badge } from '@/ui/Badge';
import { RelativeTime } from '@/ui/RelativeTime';
import { ErrorState, Loading, Skeleton } from '@/ui/States';
import { HostActions } from './HostActions';
import { HostFacts } from './HostFacts';
import { HostRun } from './HostRun';
import { Limits } from './Limits';
import { Suspect } from './Suspect';

/** HostPage shows one host: its state, its runs, its facts, and the actions on it. */
export function HostPage() {
  const { hostId } = useParams({ from: '/shell/hosts/$hostId' });
  const { data: hosts, error, refetch } = useQuery({ ...hostsQuery, refetchInterval: 10_000 });
  const host = hosts?.find((each) => each.id === hostId || each.name === hostId);
  useTitle(host?.name ?? 'Host');
  if (host) return <OneHost key={host.id} host={host} />;
  if (hosts) return <NotFound what="host" />;
  if (error)
    return (
      <ErrorState
        page
        title="The host could not be read"
        message={messageOf(error)}
        retry={() => void refetch()}
        className="pt-[12vh]"
      />
    );
  return (
    <Loading label="Loading the host" className="flex flex-col gap-3 p-5">
      <Skeleton className="h-8 w-64" />
      <Skeleton className="h-40" />
    </Loading>
  );
}

function OneHost({ host }: { host: Host }) {
  const state = hostState(host, useNow());
  const operator = useMay('operator');
  return (
    <>
      <header className="flex min-h-13 flex-wrap items-center gap-x-3 gap-y-2 border-b px-4 py-2 sm:px-5">
        <div className="flex min-w-0 items-center gap-1.5 text-base">
          <Link to="/hosts" className="text-ink-3 hover:text-ink max-sm:hidden">
            Hosts
          </Link>
          <ChevronRight aria-hidden className="size-3.5 text-ink-3 max-sm:hidden" />
          <h1 className="truncate font-semibold tracking-tight">{host.name}</h1>
        </div>
        <HostPill host={host} />
        <div className="ml-auto flex items-center gap-1.5">
          <HostActions host={host} />
        </div>
      </header>
      <div className="min-h-0 flex-1 overflow-y-auto">
        <div className="mx-auto flex max-w-3xl flex-col gap-6 p-4 sm:p-6">
          {host.instance_suspect && <Suspect host={host} mayDecide={operator !== false} />}
          <Section title="State" about={state.because}>
            <HostFacts host={host} />
            {operator !== false && <Limits host={host} />}
          </Section>
          <Runs host={host} />
          <Providers host={host} />
          <History subject="host_id" id={host.id} since={host.created_at} />
        </div>
      </div>
    </>
  );
}

function Runs({ host }: { host: Host }) {
  const { data: runs = [] } = useQuery(runsQuery({ host_id: host.id }));
  const active = runs.filter((run) => isActive(run) || run.session_ended_at === null);
  const shown = active.length > 0 ? active : runs.slice(0, 5);
  return (
    <section className="flex flex-col gap-3">
      <div className="flex items-baseline justify-between">
        <h2 className="text-sm font-semibold">{active.length > 0 ? 'Runs on it now' : 'Its latest runs'}</h2>
        <Link to="/runs" search={{ host: host.name }} className="text-xs text-accent hover:underline">
          All runs
        </Link>
      </div>
      <ul className="overflow-hidden rounded-xl bg-panel shadow-1 ring-1 ring-line">
        {shown.map((run) => (
          <li key={run.id} className="border-b last:border-0">
            <HostRun run={run} host={host} />
          </li>
        ))}
        {shown.length === 0 && (
          <li className="px-4 py-6 text-center text-sm text-ink-3">Nothing has run here yet.</li>
        )}
      </ul>
    </section>
  );
}

function Providers({ host }: { host: Host }) {
  const reports = Object.entries(host.providers).sort(([a], [b]) => a.localeCompare(b));
  const word = (report: (typeof reports)[number][1]): string =>
    report.available ? 'available' : report.preset ? 'not in use' : 'missing';
  return (
    <Section
      title="Providers"
      about={
        host.providers_reported_at ? (
          <>
            What its worker found, <RelativeTime at={host.providers_reported_at} />. To check again, run on
            the host: <code className="font-mono">svc provider doctor</code>
          </>
        ) : (
          'Its worker has not reported any yet.'
        )
      }
    >
      <ul className="-my-1.5 flex flex-col">
        {reports.map(([id, report]) => (
          <li key={id} className="flex flex-wrap items-baseline gap-x-3 border-b py-2 text-sm last:border-0">
            <span className="w-32 font-medium">{id}</span>
            <Badge tone={report.available ? 'ok' : 'neutral'}>{word(report)}</Badge>
            <Reason
              text={report.version || report.reason || ''}
              className="min-w-0 flex-1 text-xs text-ink-2"
            />
          </li>
        ))}
        {reports.length === 0 && <li className="py-2 text-sm text-ink-3">Nothing reported.</li>}
      </ul>
    </Section>
  );
}
