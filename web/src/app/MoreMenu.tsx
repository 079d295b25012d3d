import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { Project } from '@/api/records';
import { ProjectMark } from '@/components/ProjectMark';
import { projectsQuery } from '@/data/queries';
import { Menu, MenuGroup, MenuItem, MenuLine } from '@/ui/Menu';
import type { MenuPlace } from '@/ui/MenuButton';
import type { Destination } from './destinations';

/** MoreMenu is, on phones, the places that the bar has no room for, and the other projects. */
export function MoreMenu({
  project,
  places,
  ...place
}: MenuPlace & { project: Project | null; places: Destination[] }) {
  const { data: projects = [] } = useQuery(projectsQuery);
  const navigate = useNavigate();
  return (
    <Menu {...place} label="More">
      {projects.length > 0 && (
        <>
          <MenuGroup title="Projects">
            {projects.map((other) => (
              <MenuItem
                key={other.id}
                icon={<ProjectMark name={other.name} className="size-4.5" />}
                checked={other.id === project?.id}
                onSelect={() =>
                  void navigate({ to: '/p/$slug/board', params: { slug: other.slug }, search: {} })
                }
              >
                {other.name}
              </MenuItem>
            ))}
          </MenuGroup>
          <MenuLine />
        </>
      )}
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
