import { useEffect, useRef, useState } from 'react';
import type { Run } from '@/api/records';
import { useDnd } from '@/lib/dnd';
import { toast } from '@/ui/toast';
import { priorityAt } from './priorityAt';

type Edge = 'top' | 'bottom';

/** useQueueDrag makes a row of the queue draggable, and lets other rows be dropped at its edges. */
export function useQueueDrag(id: string) {
  const ref = useRef<HTMLDivElement>(null);
  const [dragging, setDragging] = useState(false);
  const [edge, setEdge] = useState<Edge | null>(null);
  const dnd = useDnd();
  useEffect(() => {
    const element = ref.current;
    if (!element || !dnd) return;
    const note = (data: Record<string | symbol, unknown>): void =>
      setEdge(dnd.extractClosestEdge(data) as Edge | null);
    return dnd.combine(
      dnd.draggable({
        element,
        getInitialData: () => ({ type: 'waiting-run', id }),
        onDragStart: () => setDragging(true),
        onDrop: () => setDragging(false),
      }),
      dnd.dropTargetForElements({
        element,
        canDrop: ({ source }) => source.data.type === 'waiting-run' && source.data.id !== id,
        getData: ({ input }) =>
          dnd.attachClosestEdge({ id }, { element, input, allowedEdges: ['top', 'bottom'] }),
        onDragEnter: ({ self }) => note(self.data),
        onDrag: ({ self }) => note(self.data),
        onDragLeave: () => setEdge(null),
        onDrop: () => setEdge(null),
      }),
    );
  }, [dnd, id]);
  return { ref, dragging, edge };
}

/** useQueueDrops sets the priority of a run that was dropped beside another one, so that it moves there. */
export function useQueueDrops(runs: readonly Run[], prioritise: (run: Run, priority: number) => void): void {
  const dnd = useDnd();
  useEffect(
    () =>
      dnd?.monitorForElements({
        canMonitor: ({ source }) => source.data.type === 'waiting-run',
        onDrop: ({ source, location }) => {
          const target = location.current.dropTargets[0]?.data;
          const run = runs.find((each) => each.id === source.data.id);
          const other = runs.find((each) => each.id === target?.id);
          if (!target || !run || !other) return;
          const edge = dnd.extractClosestEdge(target) === 'bottom' ? 'after' : 'before';
          const priority = priorityAt(run, other, edge);
          if (priority !== null) prioritise(run, priority);
          else
            toast('Its priority stays', {
              description:
                'Among runs of equal priority, the one that has waited longest comes first, and projects take turns.',
            });
        },
      }),
    [dnd, runs, prioritise],
  );
}
