import { announce } from '@atlaskit/pragmatic-drag-and-drop-live-region';
import { useCallback } from 'react';
import { messageOf } from '@/api/error';
import type { WorkItem } from '@/api/records';
import { useMoveItem } from '@/data/actions';
import type { Move } from '@/data/moves';
import { toast } from '@/ui/toast';

/** MoveItem moves an item, shows a message and offers to undo the move. */
export type MoveItem = (item: WorkItem, move: Move, said: string) => Promise<void>;

/** useItemMoves returns the function that all drags, keys and menus use to move items of a project. */
export function useItemMoves(projectId: string): MoveItem {
  const send = useMoveItem(projectId);
  return useCallback(
    async (item, move, said) => {
      try {
        const undo = await send(item.id, move);
        if (!undo) return;
        announce(said);
        toast(said, {
          id: `move-${item.id}`,
          action: {
            label: 'Undo',
            onClick: () => {
              send(item.id, undo).then(
                () => announce(`Undone: ${item.title}`),
                (error) => toast.error('The move could not be undone', { description: messageOf(error) }),
              );
            },
          },
        });
      } catch (error) {
        toast.error(`“${item.title}” stays where it was`, { description: messageOf(error) });
      }
    },
    [send],
  );
}
