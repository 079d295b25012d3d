import { ChevronDown, RotateCw, Square, Trash2 } from 'lucide-react';
import { isActive, isHeld, type Run, taskRef } from '@/api/records';
import { oncePerWorkspace, useBulkRuns } from '@/data/bulk';
import { useMay } from '@/data/role';
import { Button } from '@/ui/Button';
import { Menu, MenuItem } from '@/ui/Menu';
import { MenuButton } from '@/ui/MenuButton';
import { confirmBulk, doBulk } from './bulkAction';
import { HoldButton } from './HoldButton';
import { priorities, priorityName } from './priorities';

const nameOf = (run: Run): string =>
  [taskRef(run), run.task_title, run.session_name].filter(Boolean).join(' ');
const runsOf = (count: number): string => (count === 1 ? '1 run' : `${count} runs`);

/** RunActions has the actions on several selected runs. Each button shows to how many of them it applies. */
export function RunActions({ runs, onDone }: { runs: readonly Run[]; onDone(): void }) {
  const bulk = useBulkRuns();
  const may = useMay('operator');
  const active = runs.filter(isActive);
  const ended = runs.filter((run) => !isActive(run));
  const waiting = runs.filter((run) => run.status === 'pending');
  const changed = oncePerWorkspace(ended);
  if (may === false) return <span className="text-xs text-ink-3">Your token may only watch.</span>;
  const prioritise = (priority: number): void => {
    const name = priorityName(priority).toLowerCase();
    void doBulk({
      items: waiting,
      nameOf,
      act: bulk.setPriority(() => priority),
      said: (done) => `${runsOf(done)} now ${done === 1 ? 'has' : 'have'} the priority ${name}`,
      undo: bulk.setPriority((run) => run.priority),
    });
  };
  return (
    <>
      {waiting.length > 0 && (
        <MenuButton
          trigger={(props) => (
            <Button {...props} size="sm">
              Priority of {waiting.length}
              <ChevronDown className="size-3.5 text-ink-3" />
            </Button>
          )}
          menu={(place) => (
            <Menu {...place} label="Priority">
              {priorities.map(({ value, label }) => (
                <MenuItem key={value} onSelect={() => prioritise(value)}>
                  {label}
                </MenuItem>
              ))}
            </Menu>
          )}
        />
      )}
      <HoldButton runs={waiting.filter((run) => !isHeld(run))} />
      <HoldButton runs={waiting.filter(isHeld)} held />
      {ended.length > 0 && (
        <Button
          size="sm"
          icon={<RotateCw className="size-3.5" />}
          onClick={() =>
            confirmBulk({
              after: onDone,
              title: `Run ${ended.length} again?`,
              about:
                'Each becomes a new run with the same fields, which waits in the queue until a host has room.',
              button: `Start ${runsOf(ended.length)}`,
              items: ended,
              nameOf,
              act: bulk.rerun,
              said: (done) => `${runsOf(done)} queued`,
            })
          }
        >
          Run {ended.length} again
        </Button>
      )}
      {changed.length > 0 && (
        <Button
          size="sm"
          icon={<Trash2 className="size-3.5" />}
          onClick={() =>
            confirmBulk({
              after: onDone,
              title: `Discard ${changed.length === 1 ? 'a working copy' : `${changed.length} working copies`}?`,
              about:
                'The changes there are marked as discarded. They are removed after the number of days that the project keeps copies. Until then they can be restored.',
              button: 'Discard',
              danger: true,
              items: changed,
              nameOf,
              act: bulk.discard,
              said: (done) =>
                done === 1 ? 'A working copy is discarded' : `${done} working copies are discarded`,
              undo: bulk.keep,
            })
          }
        >
          Discard {changed.length}
        </Button>
      )}
      {active.length > 0 && (
        <Button
          size="sm"
          variant="danger"
          icon={<Square className="size-3 fill-current" />}
          onClick={() =>
            confirmBulk({
              after: onDone,
              title: `Stop ${runsOf(active.length)}?`,
              about:
                'Each agent gets Ctrl-C, then a request to end, then it is killed. What was changed so far stays as it is, and no run is restarted.',
              button: `Stop ${runsOf(active.length)}`,
              danger: true,
              items: active,
              nameOf,
              act: bulk.stop,
              said: (done) => `${runsOf(done)} stopped`,
            })
          }
        >
          Stop {active.length}
        </Button>
      )}
    </>
  );
}
