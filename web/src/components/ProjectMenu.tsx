import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import type { Project } from '@/api/records';
import { projectsQuery } from '@/data/queries';
import { Menu, MenuGroup, MenuItem, MenuLine } from '@/ui/Menu';
import type { MenuPlace } from '@/ui/MenuButton';
import { ProjectMark } from './ProjectMark';

/** ProjectMenu leads to each project, and to a new one. */
export function ProjectMenu({
  project,
  onCreate,
  ...place
}: MenuPlace & { project: Project | null; onCreate(): void }) {
  const { data: projects = [] } = useQuery(projectsQuery);
  const navigate = useNavigate();
  return (
    <Menu {...place} align="start" label="Projects">
      {projects.length > 0 && (
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
      )}
      {projects.length > 0 && <MenuLine />}
      <MenuItem icon={<Plus className="size-4" />} onSelect={onCreate}>
        New project
      </MenuItem>
    </Menu>
  );
}
