import { ShieldAlert } from 'lucide-react';
import { messageOf } from '@/api/error';
import type { Host } from '@/api/records';
import { useHostAction } from '@/data/actions';
import { Button } from '@/ui/Button';
import { toast } from '@/ui/toast';

/** Suspect explains why a host is suspect, and lets a person accept its new identity. */
export function Suspect({ host, mayDecide }: { host: Host; mayDecide: boolean }) {
  const act = useHostAction();
  const clear = (): void =>
    act.mutate(
      { id: host.id, action: 'clear-suspect' },
      {
        onSuccess: () => toast.success(`${host.name} is trusted again`),
        onError: (error) => toast.error(messageOf(error)),
      },
    );
  return (
    <section
      role="alert"
      className="flex flex-col gap-3 rounded-xl p-4 text-sm ring-1 ring-warn/40 tone-warn"
    >
      <h2 className="flex items-center gap-2 font-semibold">
        <ShieldAlert className="size-4" /> Two workers say that they are {host.name}
      </h2>
      <div className="flex flex-col gap-2 text-ink-2">
        <p>
          That happens when a machine or its data directory was copied, or when a worker was installed again
          while the old one still ran. Until you decide, the host gets no new runs. Active runs continue.
        </p>
        <ul className="flex flex-col gap-0.5 font-mono text-xs">
          <li>trusted so far: {host.instance_id ?? 'none'}</li>
          <li>newcomer: {host.suspect_instance_id ?? 'the same identity, in a second process'}</li>
        </ul>
        <p>
          First stop the worker that should not run. Then accept the other one: from then on it is this host.
        </p>
      </div>
      {mayDecide && (
        <Button className="self-start" busy={act.isPending} onClick={clear}>
          Accept the newcomer
        </Button>
      )}
    </section>
  );
}
