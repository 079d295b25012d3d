import { useNavigate, useSearch } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import { Search } from 'lucide-react';
import { useCallback, useDeferredValue, useMemo, useRef } from 'react';
import type { Host } from '@/api/records';
import { useKeptScroll } from '@/lib/kept';
import { type Selection, useSelection, useSelectKey } from '@/lib/selection';
import { useTyped } from '@/lib/typed';
import { Button } from '@/ui/Button';
import { Input } from '@/ui/Field';
import { OrderSelect } from '@/ui/OrderSelect';
import { EmptyState } from '@/ui/States';
import { arrange, orders } from './arrange';
import { HostRow } from './HostRow';
import { HostSelection } from './HostSelection';

/** HostList shows the hosts that match a search, sorted. The search and the order are in the address. */
export function HostList({ hosts }: { hosts: Host[] }) {
  const search = useSearch({ from: '/shell/hosts' });
  const navigate = useNavigate({ from: '/hosts' });
  const [text, find] = useTyped(
    search.q ?? '',
    (q) => void navigate({ search: (kept) => ({ ...kept, q: q || undefined }), replace: true }),
  );
  const words = useDeferredValue(text.trim());
  const shown = useMemo(() => arrange(hosts, words, search.sort), [hosts, words, search.sort]);
  const selection = useSelection(useMemo(() => shown.map((host) => host.id), [shown]));
  useSelectKey(selection);
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
            onChange={(sort) => void navigate({ search: (kept) => ({ ...kept, sort }), replace: true })}
          />
        </div>
        <span role="status" className="text-xs text-ink-3 tabular">
          {words && `${shown.length} of ${hosts.length} fit`}
        </span>
      </div>
      {shown.length > 0 ? (
        <Rows hosts={shown} selection={selection} />
      ) : (
        <EmptyState
          icon={<Search className="size-5" />}
          title="No host fits the search"
          action={<Button onClick={() => find('')}>Show all {hosts.length}</Button>}
        >
          There are {hosts.length} hosts, and none has all of these words.
        </EmptyState>
      )}
      {selection.ids.length > 0 && <HostSelection hosts={shown} selection={selection} />}
    </>
  );
}

/** Rows shows hosts as rows. It renders only the visible ones. */
function Rows({ hosts, selection }: { hosts: Host[]; selection: Selection }) {
  const scroller = useRef<HTMLDivElement>(null);
  const { initialOffset, onScroll } = useKeptScroll('hosts');
  const rows = useVirtualizer({
    count: hosts.length,
    getScrollElement: () => scroller.current,
    getItemKey: useCallback((index: number) => hosts[index]?.id ?? index, [hosts]),
    estimateSize: () => 61,
    overscan: 4,
    initialOffset,
  });
  return (
    <div ref={scroller} onScroll={onScroll} className="min-h-0 flex-1 overflow-y-auto">
      <ul aria-label="Hosts" className="relative" style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map(({ index, key, start }) => {
          const host = hosts[index];
          return (
            host && (
              <li
                key={key}
                ref={rows.measureElement}
                data-index={index}
                className="absolute inset-x-0 top-0"
                style={{ transform: `translateY(${start}px)` }}
              >
                <HostRow host={host} selected={selection.has(host.id)} onToggle={selection.toggle} />
              </li>
            )
          );
        })}
      </ul>
    </div>
  );
}
