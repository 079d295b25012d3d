import { Pause, Play } from 'lucide-react';
import { heldUntil, type Run } from '@/api/records';
import { useBulkRuns } from '@/data/bulk';
import { Button } from '@/ui/Button';
import { doBulk } from './bulkAction';

/**
 * HoldButton holds waiting runs, or releases held ones. For a single run, of names its task in the button's label.
 * Without runs it renders nothing.
 */
export function HoldButton({ runs, held, of }: { runs: readonly Run[]; held?: boolean; of?: string }) {
  const bulk = useBulkRuns();
  if (runs.length === 0) return null;
  const verb = held ? 'Release' : 'Hold';
  return (
    <Button
      size="sm"
      icon={held ? <Play className="size-3.5" /> : <Pause className="size-3.5" />}
      aria-label={of && `${verb} ${of}`}
      onClick={() =>
        void doBulk({
          items: runs,
          nameOf: (run) => run.task_title,
          act: bulk.setNotBefore(() => (held ? null : heldUntil)),
          said: (done) =>
            `${of ? `“${of}”` : done === 1 ? '1 run' : `${done} runs`} ${held ? 'released' : 'held until released'}`,
          undo: bulk.setNotBefore((run) => run.not_before),
        })
      }
    >
      {of ? verb : `${verb} ${runs.length}`}
    </Button>
  );
}
