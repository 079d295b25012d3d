import { type Kind, kinds } from '@/api/records';
import { kindNames } from '@/components/status';
import { Menu, MenuGroup, MenuItem, MenuLine, MenuToggle } from '@/ui/Menu';
import type { MenuPlace } from '@/ui/MenuButton';

/** LevelMenu chooses which kinds of items the board shows. */
export function LevelMenu({
  levels,
  onLevels,
  ...place
}: MenuPlace & { levels: readonly Kind[]; onLevels(levels: Kind[]): void }) {
  return (
    <Menu {...place} label="Levels">
      <MenuGroup title="Show">
        {kinds.map((kind) => (
          <MenuToggle
            key={kind}
            checked={levels.includes(kind)}
            onChange={(on) => onLevels(kinds.filter((each) => (each === kind ? on : levels.includes(each))))}
          >
            {kindNames[kind]}s
          </MenuToggle>
        ))}
      </MenuGroup>
      <MenuLine />
      <MenuItem onSelect={() => onLevels([])} disabled={levels.length === 0}>
        All levels
      </MenuItem>
    </Menu>
  );
}
