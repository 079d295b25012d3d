import { kinds } from '@/api/records';
import { kindNames } from '@/components/status';
import { setPref, usePrefs } from '@/lib/prefs';
import { Menu, MenuGroup, MenuItem, MenuLine, MenuToggle } from '@/ui/Menu';
import type { MenuPlace } from '@/ui/MenuButton';

/** LevelMenu chooses which kinds of items the board shows. */
export function LevelMenu(place: MenuPlace) {
  const levels = usePrefs((prefs) => prefs.levels);
  return (
    <Menu {...place} label="Levels">
      <MenuGroup title="Show">
        {kinds.map((kind) => (
          <MenuToggle
            key={kind}
            checked={levels.includes(kind)}
            onChange={(on) =>
              setPref(
                'levels',
                kinds.filter((each) => (each === kind ? on : levels.includes(each))),
              )
            }
          >
            {kindNames[kind]}s
          </MenuToggle>
        ))}
      </MenuGroup>
      <MenuLine />
      <MenuItem onSelect={() => setPref('levels', [])} disabled={levels.length === 0}>
        All levels
      </MenuItem>
    </Menu>
  );
}
