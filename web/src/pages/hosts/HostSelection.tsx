import { Power } from 'lucide-react';
import type { Host } from '@/api/records';
import { confirmBulk, doBulk } from '@/components/bulkAction';
import { SelectionBar } from '@/components/SelectionBar';
import { useBulkHosts } from '@/data/bulk';
import { useMay } from '@/data/role';
import type { Selection } from '@/lib/selection';
import { Button } from '@/ui/Button';

const nameOf = (host: Host): string => host.name;
const hostsOf = (count: number): string => (count === 1 ? '1 host' : `${count} hosts`);

/** keepGoing explains that disabling hosts does not stop their runs. */
function keepGoing(hosts: readonly Host[]): string {
  const runs = hosts.reduce((sum, host) => sum + host.active_runs, 0);
  if (runs === 0) return 'They get no new runs. Nothing runs on them now.';
  return `They get no new runs. ${runs === 1 ? '1 run keeps' : `${runs} runs keep`} going; nothing is stopped.`;
}

/** HostSelection has the actions on the selected hosts. Each button shows to how many of them it applies. */
export function HostSelection({ hosts, selection }: { hosts: readonly Host[]; selection: Selection }) {
  const bulk = useBulkHosts();
  const may = useMay('operator');
  const chosen = hosts.filter((host) => selection.has(host.id));
  const off = chosen.filter((host) => host.status === 'disabled');
  const on = chosen.filter((host) => host.status !== 'disabled');
  return (
    <SelectionBar selection={selection} total={hosts.length}>
      {may === false ? (
        <span className="text-xs text-ink-3">Your token may only watch.</span>
      ) : (
        <>
          {off.length > 0 && (
            <Button
              size="sm"
              icon={<Power className="size-3.5" />}
              onClick={() =>
                void doBulk({
                  after: selection.clear,
                  items: off,
                  nameOf,
                  act: bulk.enable,
                  said: (done) => `${hostsOf(done)} ${done === 1 ? 'gets' : 'get'} new runs again`,
                  undo: bulk.disable,
                })
              }
            >
              Enable {off.length}
            </Button>
          )}
          {on.length > 0 && (
            <Button
              size="sm"
              icon={<Power className="size-3.5" />}
              onClick={() =>
                confirmBulk({
                  after: selection.clear,
                  title: `Disable ${hostsOf(on.length)}?`,
                  about: keepGoing(on),
                  button: `Disable ${hostsOf(on.length)}`,
                  items: on,
                  nameOf,
                  act: bulk.disable,
                  said: (done) => `${hostsOf(done)} ${done === 1 ? 'gets' : 'get'} no new runs`,
                  undo: bulk.enable,
                })
              }
            >
              Disable {on.length}
            </Button>
          )}
        </>
      )}
    </SelectionBar>
  );
}
