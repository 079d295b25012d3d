import { Link } from '@tanstack/react-router';
import { Maximize2, X } from 'lucide-react';
import { useState } from 'react';
import { IconButton } from '@/ui/Button';
import { Sheet } from '@/ui/Overlay';
import { ItemDetail, type ItemView } from './ItemDetail';
import type { MoveItem } from './useItemMoves';

/** ItemSheet shows a work item beside the board or the tree. Without an id it is closed. */
export function ItemSheet({
  id,
  move,
  onClose,
  onOpen,
}: {
  id: string | undefined;
  move: MoveItem;
  onClose(): void;
  onOpen(id: string): void;
}) {
  // Each item starts with its own view, not with the view chosen for the item before.
  const [chosen, choose] = useState<{ id?: string; view: ItemView }>({ view: 'item' });
  const view = chosen.id === id ? chosen.view : 'item';
  return (
    <Sheet open={id !== undefined} onClose={onClose} title="Work item">
      {id && (
        <ItemDetail
          key={id}
          id={id}
          view={view}
          onView={(next) => choose({ id, view: next })}
          move={move}
          onOpen={onOpen}
          onGone={onClose}
          actions={
            <>
              <Link
                to="/t/$id"
                params={{ id }}
                search={view === 'item' ? {} : { tab: view }}
                aria-label="Open as a page"
                title="Open as a page"
                className="flex size-8 items-center justify-center rounded-md text-ink-2 hover:bg-hover hover:text-ink"
              >
                <Maximize2 className="size-3.5" />
              </Link>
              <IconButton label="Close" shortcut="Esc" onClick={onClose}>
                <X className="size-4" />
              </IconButton>
            </>
          }
        />
      )}
    </Sheet>
  );
}
