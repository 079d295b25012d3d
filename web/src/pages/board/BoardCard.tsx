import { memo, useEffect, useRef, useState } from 'react';
import { ItemCard } from '@/components/ItemCard';
import { useDnd } from '@/lib/dnd';
import { cx } from '@/ui/cx';
import type { CardProps } from './context';

/** BoardCard is a card that can be dragged. Other cards can be dropped before or after it. */
export const BoardCard = memo(function BoardCard({ lane, actions, ...card }: CardProps) {
  const { item } = card;
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

  return (
    <div className="relative">
      <ItemCard
        {...card}
        ref={ref}
        move={actions.move}
        onToggle={(range) => actions.toggle(id, range)}
        // Otherwise the library sets it later, and the browser computes the style of the whole card again.
        draggable={dnd !== null}
        dragging={dragging}
        onMenu={(open) => actions.setMenu(open ? id : null)}
        onOpen={() => actions.open(id)}
        onDelete={() => actions.remove(item)}
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
