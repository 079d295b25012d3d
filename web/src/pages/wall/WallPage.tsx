import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { LayoutGrid, ListFilter } from 'lucide-react';
import { useCallback, useMemo, useRef, useState } from 'react';
import { messageOf } from '@/api/error';
import { PageHeader } from '@/components/PageHeader';
import { PlaceFilters } from '@/components/PlaceFilters';
import { NeedsYouBadge } from '@/components/status';
import { activeRunsQuery } from '@/data/queries';
import { usePlace } from '@/data/usePlace';
import { focusSoon } from '@/lib/focus';
import { useTitle } from '@/lib/title';
import { usePalette } from '@/terminal/usePalette';
import { Button } from '@/ui/Button';
import { EmptyState, ErrorState, Loading, Skeleton } from '@/ui/States';
import { tilesOf } from './arrange';
import { Enlarged } from './Enlarged';
import { Tiles } from './Tiles';

/** WallPage shows the live screens of running runs: of all, of a project, of a host, or of a selection. */
export function WallPage() {
  useTitle('Wall');
  const search = useSearch({ from: '/shell/wall' });
  const navigate = useNavigate({ from: '/wall' });
  const palette = usePalette();
  const { projects, hosts, filter, known, missing } = usePlace(search);
  const hostOf = useMemo(() => new Map(hosts.map((host) => [host.id, host])), [hosts]);
  const { data, error, isLoading, refetch } = useQuery({
    ...activeRunsQuery({ ...filter, status: ['running'] }),
    enabled: known,
  });
  const tiles = useMemo(() => tilesOf(data ?? [], search.runs), [data, search.runs]);
  const waiting = tiles.filter((run) => run.needs_input).length;
  const set = useCallback(
    (change: Partial<typeof search>, replace = true): void =>
      void navigate({ search: (kept) => ({ ...kept, ...change }), replace }),
    [navigate],
  );
  const scrolled = useRef(0);
  const [enlarged, setEnlarged] = useState<string | null>(null);
  const open = useCallback(
    (id: string) => {
      setEnlarged(id);
      set({ open: id }, false);
    },
    [set],
  );
  if (search.open) {
    const id = search.open;
    return (
      <Enlarged
        key={id}
        runId={id}
        hosts={hostOf}
        onClose={() => {
          set({ open: undefined });
          focusSoon(`[data-tile="${id}"] button`);
        }}
      />
    );
  }
  const filtered = Boolean(search.project || search.host || search.runs);
  return (
    <>
      <PageHeader title="Wall" lead={waiting > 0 && <NeedsYouBadge count={waiting} />}>
        <div className="flex flex-wrap items-center justify-end gap-1.5">
          {search.runs && (
            <Button size="sm" onClick={() => set({ runs: undefined })}>
              {search.runs.length} selected: show all
            </Button>
          )}
          <PlaceFilters projects={projects} hosts={hosts} value={search} onChange={set} />
        </div>
      </PageHeader>
      {tiles.length > 0 ? (
        <Tiles
          runs={tiles}
          hosts={hostOf}
          palette={palette}
          onOpen={open}
          scrolled={scrolled}
          kept={enlarged}
        />
      ) : error ? (
        <ErrorState
          title="The runs could not be read"
          message={messageOf(error)}
          retry={() => void refetch()}
          className="pt-[12vh]"
        />
      ) : isLoading ? (
        <Loading label="Loading the wall" className="grid grid-cols-2 gap-3 p-5">
          {['a', 'b', 'c', 'd'].map((key) => (
            <Skeleton key={key} className="h-72" />
          ))}
        </Loading>
      ) : filtered || missing ? (
        <EmptyState
          icon={<ListFilter className="size-5" />}
          title="No run at work fits the filter"
          className="pt-[12vh]"
          action={
            <Button onClick={() => void navigate({ search: {}, replace: true })}>Show all at work</Button>
          }
        />
      ) : (
        <EmptyState icon={<LayoutGrid className="size-5" />} title="Nothing is at work" className="pt-[12vh]">
          The screen of every running agent appears here, those that wait for you first.
        </EmptyState>
      )}
    </>
  );
}
