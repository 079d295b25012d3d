import { messageOf } from '@/api/error';
import type { Host, Run } from '@/api/records';
import { useStopRun } from '@/data/actions';
import { Button } from '@/ui/Button';
import { Dialog } from '@/ui/Overlay';

/** StopDialog explains what stopping does and asks for confirmation. */
export function StopDialog({ run, host, onClose }: { run: Run; host?: Host; onClose(): void }) {
  const stop = useStopRun();
  return (
    <Dialog open onClose={onClose} title="Stop this run?">
      <div className="flex flex-col gap-2 text-sm text-ink-2">
        {run.status === 'pending' ? (
          <p>It waits for a host. Nothing was started, so nothing is lost.</p>
        ) : (
          <p>
            The agent gets Ctrl-C, after 5 seconds a request to end, after 10 more it is killed and its
            session closed. What it changed so far stays as it is.
          </p>
        )}
        {host?.status === 'offline' && (
          <p className="text-warn">
            {host.name} is offline: the agent continues until the host is back and receives the stop.
          </p>
        )}
        {run.restart_policy !== 'never' && <p>It is not restarted: a stop also ends the restarts.</p>}
        {stop.error && (
          <p role="alert" className="text-bad">
            {messageOf(stop.error)}
          </p>
        )}
      </div>
      <div className="mt-5 flex justify-end gap-2">
        <Button onClick={onClose}>Keep it running</Button>
        <Button
          variant="danger"
          busy={stop.isPending}
          onClick={() => stop.mutate(run.id, { onSuccess: onClose })}
        >
          Stop the run
        </Button>
      </div>
    </Dialog>
  );
}
