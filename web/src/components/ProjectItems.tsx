import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { Project } from '@/api/records';
import { projectsQuery } from '@/data/queries';
import { MenuGroup, MenuItem, MenuLine } from '@/ui/Menu';
import { ProjectMark } from './ProjectMark';

/** ProjectItems is the part of a menu with links to the projects' boards. Without projects it renders nothing. */
export function ProjectItems({ project }: { project: Project | null }) {
  const { data: projects = [] } = useQuery(projectsQuery);
  const navigate = useNavigate();
  if (projects.length === 0) return null;
  return (
    <>
      <MenuGroup title="Projects">
        {projects.map((other) => (
          <MenuItem
            key={other.id}
            icon={<ProjectMark name={other.name} className="size-4.5" />}
            checked={other.id === project?.id}
            onSelect={() => void navigate({ to: '/p/$slug/board', params: { slug: other.slug }, search: {} })}
          >
            {other.name}
          </MenuItem>
        ))}
      </MenuGroup>
      <MenuLine />
    </>
  );
}
