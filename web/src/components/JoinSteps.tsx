import { useQuery } from '@tanstack/react-query';
import { CircleCheck } from 'lucide-react';
import type { Host } from '@/api/records';
import { hostsQuery } from '@/data/queries';
import { Command } from '@/ui/Copy';
import { Spinner } from '@/ui/Spinner';
import { isLoopback, joinCommand } from './joinCommand';

/** JoinSteps shows the command that makes a machine join as a host, and then whether it has joined. */
export function JoinSteps({ host, token }: { host: Host; token: string }) {
  const { data: hosts } = useQuery({ ...hostsQuery, refetchInterval: 3000 });
  const now = hosts?.find((other) => other.id === host.id) ?? host;
  const online = now.status === 'online';
  return (
    <div className="flex flex-col gap-4 text-sm">
      <p className="text-ink-2">
        Paste this on <b className="font-medium text-ink">{host.name}</b>, where svc and tmux are installed.
        The token in it works for this host alone and is kept there, so the command is needed once.
      </p>
      <Command line={joinCommand(location.origin, host.name, token)} />
      {isLoopback(location.hostname) && (
        <p className="rounded-lg px-3 py-2 text-xs tone-warn">
          {location.hostname} always means the machine itself. For another machine, replace it in the command
          with an address of this server.
        </p>
      )}
      <p role="status" className="flex items-center gap-2">
        {online ? (
          <>
            <CircleCheck className="size-4 text-ok" /> {host.name} is online.
          </>
        ) : (
          <>
            <Spinner className="text-ink-3" />{' '}
            <span className="text-ink-2">Waiting for its first heartbeat</span>
          </>
        )}
      </p>
    </div>
  );
}
