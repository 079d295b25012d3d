import { Link } from '@tanstack/react-router';
import { memo } from 'react';
import type { Host } from '@/api/records';
import { HostPill } from '@/components/HostPill';
import { hostState } from '@/components/hostState';
import { Load } from '@/components/Load';
import { bytes } from '@/lib/bytes';
import { useNow } from '@/lib/useNow';
import { Badge } from '@/ui/Badge';
import { Checkbox } from '@/ui/Checkbox';
import { cx } from '@/ui/cx';
import { RelativeTime } from '@/ui/RelativeTime';

/** HostRow shows a host in the list of hosts. */
export const HostRow = memo(function HostRow({
  host,
  selected,
  onToggle,
}: {
  host: Host;
  selected: boolean;
  onToggle(id: string, range: boolean): void;
}) {
  const { stale } = hostState(host, useNow());
  const reports = Object.entries(host.providers).filter(([, report]) => !report.preset);
  const available = reports.filter(([, report]) => report.available).map(([id]) => id);
  const labels = Object.entries(host.labels).map(([name, value]) => `${name}=${value}`);
  return (
    <div
      data-row={host.id}
      className={cx(
        'flex min-h-15 items-center border-b pl-2 hover:bg-hover sm:pl-3',
        selected && 'bg-accent/4',
      )}
    >
      <Checkbox
        label={`Select ${host.name}`}
        checked={selected}
        onToggle={(range) => onToggle(host.id, range)}
      />
      <Link
        to="/hosts/$hostId"
        params={{ hostId: host.id }}
        className="grid min-w-0 flex-1 grid-cols-[1fr_auto] items-center gap-x-5 gap-y-1.5 py-2.5 pr-4 pl-2 sm:grid-cols-[8rem_minmax(8rem,14rem)_8rem_1fr_7rem] sm:pr-5"
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
        <span className="flex flex-col gap-0.5 max-sm:order-3">
          <Load host={host} />
          {host.disk_free_bytes !== null && (
            <span
              className={cx(
                'text-xs tabular',
                host.refusing?.code === 'disk_low' ? 'text-warn' : 'text-ink-3',
              )}
            >
              {bytes(host.disk_free_bytes)} free
            </span>
          )}
        </span>
        <span className="flex min-w-0 flex-wrap gap-1 max-sm:order-5 max-sm:col-span-2">
          {available.map((id) => (
            <Badge key={id} tone="ok">
              {id}
            </Badge>
          ))}
          {reports.length > available.length && <Badge>{reports.length - available.length} missing</Badge>}
          {labels.map((label) => (
            <Badge key={label}>{label}</Badge>
          ))}
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
    </div>
  );
});
