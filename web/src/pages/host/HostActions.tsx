import { useNavigate } from '@tanstack/react-router';
import { Ellipsis, Power, Terminal, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { messageOf } from '@/api/error';
import type { Host } from '@/api/records';
import { JoinSteps } from '@/components/JoinSteps';
import { useDeleteHost, useHostAction, useHostToken } from '@/data/actions';
import { useMay } from '@/data/role';
import { Button, IconButton } from '@/ui/Button';
import { Menu, MenuItem, MenuLine } from '@/ui/Menu';
import { MenuButton } from '@/ui/MenuButton';
import { Dialog } from '@/ui/Overlay';
import { toast } from '@/ui/toast';

/** keepsGoing explains that disabling a host does not stop its runs. */
export function keepsGoing(runs: number): string {
  if (runs === 0) return 'No new runs. Nothing runs on it now.';
  return `No new runs. ${runs} ${runs === 1 ? 'run keeps' : 'runs keep'} going; nothing is stopped.`;
}

/** HostActions has the actions on a host that the signed-in token permits. Each explains its effect first. */
export function HostActions({ host }: { host: Host }) {
  const [asked, setAsked] = useState<'disable' | 'delete' | 'join' | null>(null);
  const act = useHostAction();
  const operator = useMay('operator');
  const admin = useMay('admin');
  const close = (): void => setAsked(null);
  const enable = (): void =>
    act.mutate(
      { id: host.id, action: 'enable' },
      {
        onSuccess: () => toast.success(`${host.name} gets new runs again`),
        onError: (error) => toast.error(messageOf(error)),
      },
    );
  if (operator === false) return null;
  return (
    <>
      {host.status === 'disabled' ? (
        <Button icon={<Power className="size-3.5" />} busy={act.isPending} onClick={enable}>
          Enable
        </Button>
      ) : (
        <Button icon={<Power className="size-3.5" />} onClick={() => setAsked('disable')}>
          Disable
        </Button>
      )}
      {admin !== false && (
        <MenuButton
          trigger={(props) => (
            <IconButton {...props} label="More">
              <Ellipsis className="size-4" />
            </IconButton>
          )}
          menu={(place) => (
            <Menu {...place} label={`More for ${host.name}`}>
              <MenuItem icon={<Terminal className="size-4" />} onSelect={() => setAsked('join')}>
                Show the join command
              </MenuItem>
              <MenuLine />
              <MenuItem icon={<Trash2 className="size-4" />} danger onSelect={() => setAsked('delete')}>
                Delete…
              </MenuItem>
            </Menu>
          )}
        />
      )}
      {asked === 'disable' && <DisableDialog host={host} onClose={close} />}
      {asked === 'delete' && <DeleteDialog host={host} onClose={close} />}
      {asked === 'join' && <JoinDialog host={host} onClose={close} />}
    </>
  );
}

function DisableDialog({ host, onClose }: { host: Host; onClose(): void }) {
  const act = useHostAction();
  return (
    <Dialog open onClose={onClose} title={`Disable ${host.name}?`}>
      <p className="text-sm text-ink-2">{keepsGoing(host.active_runs)}</p>
      {act.error && (
        <p role="alert" className="mt-3 text-sm text-bad">
          {messageOf(act.error)}
        </p>
      )}
      <div className="mt-5 flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button
          variant="primary"
          busy={act.isPending}
          onClick={() => act.mutate({ id: host.id, action: 'disable' }, { onSuccess: onClose })}
        >
          Disable
        </Button>
      </div>
    </Dialog>
  );
}

function DeleteDialog({ host, onClose }: { host: Host; onClose(): void }) {
  const remove = useDeleteHost();
  const navigate = useNavigate();
  const done = (): void => {
    toast(`Deleted ${host.name}`);
    void navigate({ to: '/hosts' });
  };
  return (
    <Dialog open onClose={onClose} title={`Delete ${host.name}?`}>
      <p className="text-sm text-ink-2">
        Its worker can no longer join. Its runs stay readable.{' '}
        {host.active_runs > 0 &&
          'It has active runs. If it never comes back, delete it by force: they fail with host_lost, and are started on another host if their restart policy allows it.'}
      </p>
      {remove.error && (
        <p role="alert" className="mt-3 text-sm text-bad">
          {messageOf(remove.error)}
        </p>
      )}
      <div className="mt-5 flex justify-end gap-2">
        <Button onClick={onClose}>Keep it</Button>
        <Button
          variant="danger"
          busy={remove.isPending}
          onClick={() => remove.mutate({ id: host.id, force: host.active_runs > 0 }, { onSuccess: done })}
        >
          {host.active_runs > 0 ? 'End its runs and delete' : 'Delete'}
        </Button>
      </div>
    </Dialog>
  );
}

function JoinDialog({ host, onClose }: { host: Host; onClose(): void }) {
  const token = useHostToken();
  return (
    <Dialog open onClose={onClose} title={`Join ${host.name}`} wide>
      {token.data ? (
        <JoinSteps host={host} token={token.data.token} />
      ) : (
        <div className="flex flex-col gap-4 text-sm text-ink-2">
          <p>The command carries a secret token. It lets a worker join as this host and as no other.</p>
          {token.error && (
            <p role="alert" className="text-bad">
              {messageOf(token.error)}
            </p>
          )}
          <Button
            variant="primary"
            className="self-start"
            busy={token.isPending}
            onClick={() => token.mutate(host.id)}
          >
            Show it
          </Button>
        </div>
      )}
    </Dialog>
  );
}
