import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { messageOf } from '@/api/error';
import type { Replica } from '@/api/schema.gen';
import { Section } from '@/components/Section';
import { replicasQuery, useDrainReplica } from '@/data/access';
import { Badge, type Tone } from '@/ui/Badge';
import { Button } from '@/ui/Button';
import { Dialog } from '@/ui/Overlay';
import { RelativeTime } from '@/ui/RelativeTime';
import { ErrorState, Loading, Skeleton } from '@/ui/States';
import { toast } from '@/ui/toast';

const tones: Record<Replica['state'], Tone> = { ready: 'ok', draining: 'warn', gone: 'neutral' };

/** nameOf returns the name of an orchestrator process: its address in the cluster, else the beginning of its id. */
const nameOf = (replica: Replica): string => replica.address || replica.id.slice(0, 8);

/** Replicas lists the orchestrator processes that share the database, and can drain one. */
export function Replicas() {
  const { data: replicas, error, refetch } = useQuery(replicasQuery);
  const [draining, setDraining] = useState<Replica | null>(null);
  const ready = replicas?.filter(({ state }) => state === 'ready').length ?? 0;
  return (
    <Section
      title="Orchestrators"
      about="The processes that share the database. Gone ones are listed for a day."
    >
      {replicas ? (
        <ul aria-label="Orchestrators" className="-my-2 flex flex-col">
          {replicas.map((replica) => (
            <ReplicaRow key={replica.id} replica={replica} onDrain={() => setDraining(replica)} />
          ))}
        </ul>
      ) : error ? (
        <ErrorState
          title="The orchestrators could not be read"
          message={messageOf(error)}
          retry={() => void refetch()}
        />
      ) : (
        <Loading label="Loading the orchestrators">
          <Skeleton className="h-16" />
        </Loading>
      )}
      {draining && <DrainDialog replica={draining} last={ready <= 1} onClose={() => setDraining(null)} />}
    </Section>
  );
}

function ReplicaRow({ replica, onDrain }: { replica: Replica; onDrain(): void }) {
  const { state, leader, uplinks, version } = replica;
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b py-2.5 last:border-0">
      <span className="flex min-w-0 flex-1 basis-56 flex-col gap-1">
        <span className="flex min-w-0 items-center gap-2">
          <span className="truncate text-sm font-medium">{nameOf(replica)}</span>
          <Badge tone={tones[state]}>{state}</Badge>
          {leader && <Badge tone="info">leader</Badge>}
        </span>
        <span className="text-xs text-ink-3">
          {version}
          {' · '}
          {uplinks === 1 ? '1 worker' : `${uplinks} workers`}
          {' · '}started <RelativeTime at={replica.since} />
          {' · '}seen <RelativeTime at={replica.last_seen_at} />
        </span>
      </span>
      {state === 'ready' && (
        <Button size="sm" onClick={onDrain} aria-label={`Drain ${nameOf(replica)}`}>
          Drain…
        </Button>
      )}
    </li>
  );
}

function DrainDialog({ replica, last, onClose }: { replica: Replica; last: boolean; onClose(): void }) {
  const drain = useDrainReplica();
  const submit = (): void =>
    drain.mutate(replica.id, {
      onSuccess: () => {
        toast(`${nameOf(replica)} hands over and ends`);
        onClose();
      },
    });
  return (
    <Dialog open onClose={onClose} title={`Drain ${nameOf(replica)}?`}>
      <p className="text-sm text-ink-2">
        It hands its work over to the others, and its process ends. Runs continue. This cannot be undone: the
        process must be started again.
      </p>
      {last && (
        <p className="mt-3 rounded-lg px-3 py-2 text-sm tone-warn">
          No other orchestrator is ready: until one is started, no run is placed, and this page cannot be
          reached.
        </p>
      )}
      {drain.error && (
        <p role="alert" className="mt-3 text-sm text-bad">
          {messageOf(drain.error)}
        </p>
      )}
      <div className="mt-5 flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button variant="danger" busy={drain.isPending} onClick={submit}>
          Drain
        </Button>
      </div>
    </Dialog>
  );
}
