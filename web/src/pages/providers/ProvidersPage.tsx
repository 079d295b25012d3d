import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Check, Minus, Plug, X } from 'lucide-react';
import { useState } from 'react';
import { messageOf } from '@/api/error';
import { availability, type Host, type Provider } from '@/api/records';
import type { ProviderOnHost } from '@/api/schema.gen';
import { HostName } from '@/components/HostPill';
import { worstFirst } from '@/components/hostState';
import { isShown } from '@/components/modes';
import { PageHeader } from '@/components/PageHeader';
import { Reason } from '@/components/Reason';
import { hostsQuery, providersQuery } from '@/data/queries';
import { useTitle } from '@/lib/title';
import { Badge } from '@/ui/Badge';
import { Button } from '@/ui/Button';
import { Command } from '@/ui/Copy';
import { cx } from '@/ui/cx';
import { RelativeTime } from '@/ui/RelativeTime';
import { EmptyState, ErrorState, Loading, Skeleton } from '@/ui/States';
import { type Fix, fixesOf, type Offer, offersOf } from './fixes';

/** ProvidersPage shows which provider is available on which host, why not, and the command that finds the reason. */
export function ProvidersPage() {
  useTitle('Providers');
  const { data, error, refetch } = useQuery(providersQuery);
  const [whole, setWhole] = useState(false);
  const providers = whole ? data : data?.filter(isShown);
  const hidden = (data?.length ?? 0) - (providers?.length ?? 0);
  const { data: all = [] } = useQuery(hostsQuery);
  // Hosts with current reports come first, because on a phone only the first one is visible.
  const hosts = [...all].sort((a, b) => worstFirst(b, a));
  return (
    <>
      <PageHeader
        title="Providers"
        lead={
          providers && (
            <span className="text-xs text-ink-3 max-sm:hidden">What each worker found on its host</span>
          )
        }
      />
      {!providers ? (
        error ? (
          <ErrorState
            title="The providers could not be read"
            message={messageOf(error)}
            retry={() => void refetch()}
            className="pt-[12vh]"
          />
        ) : (
          <Loading label="Loading the providers" className="p-5">
            <Skeleton className="h-56" />
          </Loading>
        )
      ) : providers.length === 0 ? (
        <EmptyState icon={<Plug className="size-5" />} title="The catalog is empty" className="pt-[12vh]">
          Providers are the agents’ command-line tools. They are listed in{' '}
          <code className="font-mono text-xs">providers.toml</code> in the data directory.
        </EmptyState>
      ) : (
        <div className="min-h-0 flex-1 overflow-y-auto">
          <div className="flex flex-col gap-8 p-4 sm:p-5">
            <Doctor providers={providers} hosts={hosts} />
            {hidden > 0 && (
              <Button onClick={() => setWhole(true)} className="self-start">
                Show {hidden} more that no host has
              </Button>
            )}
            <Offers offers={offersOf(hosts)} />
            <Fixes fixes={fixesOf(providers, hosts)} />
          </div>
        </div>
      )}
    </>
  );
}

/** Doctor shows the table of hosts and providers. */
function Doctor({ providers, hosts }: { providers: Provider[]; hosts: Host[] }) {
  return (
    <section
      aria-label="Providers by host"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls sideways, so the keyboard must reach it
      tabIndex={0}
      className="overflow-x-auto rounded-xl bg-panel shadow-1 ring-1 ring-line"
    >
      <table className="w-full min-w-max border-collapse text-sm">
        <thead>
          <tr className="text-left text-xs">
            <th
              scope="col"
              className="sticky left-0 z-10 border-b bg-panel px-4 py-2.5 font-medium text-ink-3"
            >
              Provider
            </th>
            {hosts.map((host) => (
              <th key={host.id} scope="col" className="border-b border-l px-4 py-2.5 font-medium">
                <Link to="/hosts/$hostId" params={{ hostId: host.id }} className="hover:underline">
                  <HostName host={host} />
                </Link>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {providers.map((provider) => (
            <tr key={provider.id} className="align-top">
              <th
                scope="row"
                className="sticky left-0 z-10 border-b bg-panel px-4 py-3 text-left font-normal in-[tr:last-child]:border-b-0"
              >
                <ProviderFacts provider={provider} />
              </th>
              {hosts.map((host) => (
                <td key={host.id} className="border-b border-l px-4 py-3 in-[tr:last-child]:border-b-0">
                  <Cell
                    report={provider.hosts[host.id]}
                    optional={provider.optional}
                    seen={host.last_seen_at !== null}
                  />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function ProviderFacts({ provider }: { provider: Provider }) {
  const { available, known } = availability(provider);
  return (
    <span className="flex min-w-40 flex-col gap-0.5">
      <span className="flex items-center gap-2 font-medium">
        {provider.name || provider.id}
        {provider.optional && <Badge>optional</Badge>}
        {!provider.in_catalog && <Badge tone="info">a worker’s own</Badge>}
      </span>
      <span className="text-xs text-ink-3">
        {provider.bin && <code className="font-mono">{provider.bin}</code>}
        {provider.bin && ' · '}
        {known === 0 ? 'no host looked yet' : `on ${available} of ${known} ${known === 1 ? 'host' : 'hosts'}`}
      </span>
    </span>
  );
}

function Cell({ report, optional, seen }: { report?: ProviderOnHost; optional: boolean; seen: boolean }) {
  if (!report) {
    return (
      <span className="flex items-center gap-1.5 text-xs text-ink-3">
        <Minus aria-hidden className="size-3.5" /> {seen ? 'not in its catalog' : 'never joined'}
      </span>
    );
  }
  const Icon = report.available ? Check : X;
  return (
    <span className="flex max-w-80 flex-col gap-0.5">
      <span
        className={cx(
          'flex items-center gap-1.5 text-xs font-medium',
          report.available ? 'text-ok' : optional ? 'text-ink-3' : 'text-bad',
        )}
      >
        <Icon aria-hidden className="size-3.5" /> {report.available ? 'Available' : 'Not available'}
      </span>
      {(report.version || report.reason) && (
        <Reason text={report.version || report.reason || ''} className="text-xs text-ink-2" />
      )}
      {report.reported_at && (
        <span className="text-2xs text-ink-3">
          looked <RelativeTime at={report.reported_at} />
        </span>
      )}
    </span>
  );
}

function Offers({ offers }: { offers: Offer[] }) {
  if (offers.length === 0) return null;
  return (
    <section aria-labelledby="offers" className="flex max-w-3xl flex-col gap-3">
      <div>
        <h2 id="offers" className="text-sm font-semibold">
          Found, and not used yet
        </h2>
        <p className="text-xs text-ink-3">
          These tools are installed, and there are tested entries for them. The command adds them to the
          catalog of the host that it is run on; the worker there notices by itself.
        </p>
      </div>
      <ul className="flex flex-col gap-2">
        {offers.map(({ preset, hosts }) => (
          <li key={preset} className="grid items-center gap-x-4 gap-y-1 sm:grid-cols-[1fr_20rem]">
            <span className="min-w-0 text-sm">
              {preset} <span className="text-ink-3">is on {hosts.join(', ')}</span>
            </span>
            <Command line={`svc provider add ${preset}`} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Fixes({ fixes }: { fixes: Fix[] }) {
  if (fixes.length === 0) return null;
  return (
    <section className="flex max-w-3xl flex-col gap-3">
      <div>
        <h2 className="text-sm font-semibold">To look closer</h2>
        <p className="text-xs text-ink-3">
          Run on the host: it names the binary, the PATH and what to do. Optional providers are left out.
        </p>
      </div>
      <ul className="flex flex-col gap-2">
        {fixes.map((fix) => (
          <li key={fix.provider} className="grid items-center gap-x-4 gap-y-1 sm:grid-cols-[1fr_20rem]">
            <span className="min-w-0 text-sm">
              {fix.name} <span className="text-ink-3">is missing on {fix.hosts.join(', ')}</span>
            </span>
            <Command line={`svc provider doctor ${fix.provider}`} />
          </li>
        ))}
      </ul>
    </section>
  );
}
