import { memo, useEffect, useRef, useState } from 'react';
import type { WorkItem } from '@/api/records';
import { ItemCard } from '@/components/ItemCard';
import { unmet } from '@/data/board';
import { useDnd } from '@/lib/dnd';
import { cx } from '@/ui/cx';
import { useBoard } from './context';

/** BoardCard is a card that can be dragged, and beside which others can be dropped. */
export const BoardCard = memo(function BoardCard({ item, lane }: { item: WorkItem; lane?: string | null }) {
  const board = useBoard();
  const ref = useRef<HTMLElement>(null);
  const [dragging, setDragging] = useState(false);
  const [edge, setEdge] = useState<'top' | 'bottom' | null>(null);
  const { id, status } = item;
  const dnd = useDnd();

  useEffect(() => {
    const element = ref.current;
    if (!element || !dnd) return;
    return dnd.combine(
      dnd.draggable({
        element,
        getInitialData: () => ({ type: 'item', id }),
        onDragStart: () => setDragging(true),
        onDrop: () => setDragging(false),
      }),
      dnd.dropTargetForElements({
        element,
        canDrop: ({ source }) => source.data.type === 'item' && source.data.id !== id,
        getIsSticky: () => true,
        getData: ({ input }) =>
          dnd.attachClosestEdge(
            { type: 'card', id, status, lane },
            { element, input, allowedEdges: ['top', 'bottom'] },
          ),
        onDragEnter: ({ self }) => setEdge(dnd.extractClosestEdge(self.data) as 'top' | 'bottom' | null),
        onDrag: ({ self }) => setEdge(dnd.extractClosestEdge(self.data) as 'top' | 'bottom' | null),
        onDragLeave: () => setEdge(null),
        onDrop: () => setEdge(null),
      }),
    );
  }, [dnd, id, status, lane]);

  const run = board.runs.get(id);
  return (
    <div className="relative">
      <ItemCard
        ref={ref}
        item={item}
        facts={{
          parent: lane === undefined && item.parent_id ? board.byId.get(item.parent_id) : undefined,
          progress: board.progress.get(id),
          needsBelow: board.needsBelow.get(id),
          unmet: unmet(item, board.byId),
          run,
          host: run?.host_id ? board.hosts.get(run.host_id) : undefined,
          change: run?.workspace_id ? board.changes[run.workspace_id] : undefined,
        }}
        move={board.move}
        open={board.selected === id}
        selected={board.selection.has(id)}
        selecting={board.selection.ids.length > 0}
        onToggle={(range) => board.selection.toggle(id, range)}
        tabbable={board.active === id}
        dragging={dragging}
        menuOpen={board.menu === id}
        onMenu={(open) => board.setMenu(open ? id : null)}
        onOpen={() => board.open(id)}
        onDelete={() => board.remove(item)}
      />
      {edge && (
        <div
          aria-hidden
          className={cx(
            'pointer-events-none absolute inset-x-1 h-0.5 rounded-full bg-accent',
            edge === 'top' ? '-top-[5px]' : '-bottom-[5px]',
          )}
        />
      )}
    </div>
  );
});
