import { useQuery } from '@tanstack/react-query';
import { RotateCw, VideoOff } from 'lucide-react';
import { useState } from 'react';
import { callStream } from '@/api/client';
import { isCode, messageOf } from '@/api/error';
import { type Event, isActive } from '@/api/records';
import type { RunDetail } from '@/api/schema.gen';
import { keys } from '@/data/keys';
import { runEventsQuery } from '@/data/queries';
import { bytes } from '@/lib/bytes';
import { mostBytes, type Recording, readRecording } from '@/terminal/recording';
import { Button } from '@/ui/Button';
import { Select } from '@/ui/Field';
import { EmptyState, ErrorState, Loading, Skeleton } from '@/ui/States';
import { attemptOf, momentOf, titlesOf } from './moment';
import { Player } from './Player';

const none: Event[] = [];

/** Replay plays the recording of an attempt of the run: from its start, or from the time of an event. */
export function Replay({ run, event }: { run: RunDetail; event?: number }) {
  const { data: events = none, isPending } = useQuery(runEventsQuery(run.id));
  const wanted = events.find((other) => other.seq === event);
  // If the journal cannot be read, the replay starts at the beginning.
  if (event !== undefined && isPending) return <Reading />;
  return (
    <Attempts
      run={run}
      events={events}
      begin={wanted ? attemptOf(wanted) : null}
      start={(recording) =>
        wanted ? (momentOf(recording.marks, events, wanted.seq) ?? recording.length) : 0
      }
    />
  );
}

const Reading = () => (
  <Loading label="Loading the recording" className="flex-1 p-4">
    <Skeleton className="h-full" />
  </Loading>
);

function Attempts({
  run,
  events,
  begin,
  start,
}: {
  run: RunDetail;
  events: Event[];
  /** The attempt that is shown first. Null: the last one. */
  begin: number | null;
  /** start returns the time in the recording of that attempt at which it starts, in ms. */
  start(recording: Recording): number;
}) {
  const last = Math.max(1, run.attempt);
  const [chosen, setChosen] = useState<number | null>(begin);
  const attempt = chosen ?? last;
  const active = isActive(run) && attempt === last;
  const { data, error, refetch, isFetching, dataUpdatedAt } = useQuery({
    queryKey: keys.recording(run.id, attempt),
    queryFn: async ({ signal }) =>
      readRecording(
        await callStream('GET /runs/{id}/recording', { path: { id: run.id }, query: { attempt }, signal }),
      ),
    // A recording can be large, so it is kept only while it is shown, and read again only when the user asks for it.
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
    structuralSharing: false,
    refetchOnReconnect: false,
    retry: false,
  });
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      {(last > 1 || active || data?.cut) && (
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1.5 border-b px-3 py-1.5 text-xs text-ink-2 sm:px-4">
          {last > 1 && (
            <Select
              aria-label="Attempt"
              value={attempt}
              onChange={(event) => setChosen(Number(event.target.value))}
              className="w-auto!"
            >
              {Array.from({ length: last }, (_, i) => i + 1).map((n) => (
                <option key={n} value={n}>
                  Attempt {n}
                </option>
              ))}
            </Select>
          )}
          {data?.cut && (
            <span role="status" className="text-warn">
              This recording is too large to play whole: these are its first {bytes(mostBytes)}. `svc run
              export` saves all of it.
            </span>
          )}
          {active && (
            <>
              <span>The run goes on; this is what it had recorded when this was loaded.</span>
              <Button
                size="sm"
                busy={isFetching}
                icon={<RotateCw className="size-3.5" />}
                onClick={() => void refetch()}
              >
                Load again
              </Button>
            </>
          )}
        </div>
      )}
      {error ? (
        <Unreadable error={error} attempt={attempt} retry={() => void refetch()} />
      ) : !data ? (
        <Reading />
      ) : (
        <Player
          key={`${attempt} ${dataUpdatedAt}`}
          recording={data}
          titles={titlesOf(data.marks, events, attempt)}
          start={attempt === begin ? start(data) : 0}
        />
      )}
    </div>
  );
}

function Unreadable({ error, attempt, retry }: { error: Error; attempt: number; retry(): void }) {
  if (isCode(error, 'no_recording')) {
    return (
      <EmptyState icon={<VideoOff className="size-5" />} title="There is no recording" className="pt-[10vh]">
        The host did not record when the output of attempt {attempt} came, so it cannot be played. What it
        wrote is under Log.
      </EmptyState>
    );
  }
  return (
    <ErrorState
      title="The recording could not be read"
      message={messageOf(error)}
      retry={retry}
      className="pt-[10vh]"
    />
  );
}
