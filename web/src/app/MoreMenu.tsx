import { useNavigate } from '@tanstack/react-router';
import type { Project } from '@/api/records';
import { ProjectItems } from '@/components/ProjectItems';
import { Menu, MenuItem } from '@/ui/Menu';
import type { MenuPlace } from '@/ui/MenuButton';
import type { Destination } from './destinations';

/** MoreMenu contains, on phones, the pages for which the bottom bar has no room, and the other projects. */
export function MoreMenu({
  project,
  places,
  ...place
}: MenuPlace & { project: Project | null; places: Destination[] }) {
  const navigate = useNavigate();
  return (
    <Menu {...place} label="More">
      <ProjectItems project={project} />
      {places.map((each) => (
        <MenuItem
          key={each.label}
          icon={<each.icon className="size-4" />}
          onSelect={() => void navigate(each.link)}
        >
          {each.label}
        </MenuItem>
      ))}
    </Menu>
  );
}
