import { Copy, CornerLeftUp, ListPlus, PanelRight, Play, Shapes, SquareCheckBig, Trash2 } from 'lucide-react';
import { messageOf } from '@/api/error';
import { isRunnable, itemStatuses, type Kind, kinds, type WorkItem } from '@/api/records';
import { useUpdateItem } from '@/data/actions';
import { copyText } from '@/ui/Copy';
import { Menu, MenuGroup, MenuItem, MenuLine, SubMenu } from '@/ui/Menu';
import type { MenuPlace } from '@/ui/MenuButton';
import { toast } from '@/ui/toast';
import { childKind, openNewItem } from './newItem';
import { openStartRun } from './startRun';
import { KindIcon, kindNames, StatusIcon, statusNames } from './status';
import type { MoveItem } from './useItemMoves';

/** ItemMenu contains every action on a work item, including those of all drags and keys. */
export function ItemMenu({
  item,
  move,
  onOpen,
  onSelect,
  selected,
  onDelete,
  ...place
}: MenuPlace & {
  item: WorkItem;
  move: MoveItem;
  onOpen?(): void;
  /** Absent: the list around the menu has no selection. */
  onSelect?(): void;
  selected?: boolean;
  onDelete(): void;
}) {
  const update = useUpdateItem();
  const setKind = (kind: Kind): void =>
    update.mutate({ id: item.id, patch: { kind } }, { onError: (error) => toast.error(messageOf(error)) });
  return (
    <Menu {...place} label={`Actions for ${item.title}`}>
      <MenuGroup>
        {onOpen && (
          <MenuItem icon={<PanelRight className="size-4" />} shortcut="Enter" onSelect={onOpen}>
            Open
          </MenuItem>
        )}
        {onSelect && (
          <MenuItem icon={<SquareCheckBig className="size-4" />} shortcut="x" onSelect={onSelect}>
            {selected ? 'Deselect' : 'Select'}
          </MenuItem>
        )}
        {isRunnable(item) && (
          <MenuItem icon={<Play className="size-4" />} shortcut="r" onSelect={() => openStartRun(item)}>
            Start a run…
          </MenuItem>
        )}
      </MenuGroup>
      <MenuLine />
      <MenuGroup title="Move to">
        {itemStatuses.map((status, i) => (
          <MenuItem
            key={status}
            icon={<StatusIcon status={status} />}
            checked={status === item.status}
            shortcut={String(i + 1)}
            onSelect={() => void move(item, { status }, `“${item.title}” is in ${statusNames[status]}`)}
          >
            {statusNames[status]}
          </MenuItem>
        ))}
      </MenuGroup>
      <MenuLine />
      <MenuGroup>
        <SubMenu icon={<Shapes className="size-4" />} title="Kind">
          {kinds.map((kind) => (
            <MenuItem
              key={kind}
              icon={<KindIcon kind={kind} />}
              checked={kind === item.kind}
              onSelect={() => setKind(kind)}
            >
              {kindNames[kind]}
            </MenuItem>
          ))}
        </SubMenu>
        <MenuItem
          icon={<ListPlus className="size-4" />}
          onSelect={() =>
            openNewItem({ project_id: item.project_id, parent_id: item.id, kind: childKind(item.kind) })
          }
        >
          Add a child…
        </MenuItem>
        {item.parent_id && (
          <MenuItem
            icon={<CornerLeftUp className="size-4" />}
            onSelect={() => void move(item, { parent_id: null }, `“${item.title}” is at the top level`)}
          >
            Move to the top level
          </MenuItem>
        )}
        <MenuItem icon={<Copy className="size-4" />} onSelect={() => void copyText(item.id)}>
          Copy id
        </MenuItem>
      </MenuGroup>
      <MenuLine />
      <MenuItem icon={<Trash2 className="size-4" />} danger onSelect={onDelete}>
        Delete…
      </MenuItem>
    </Menu>
  );
}
