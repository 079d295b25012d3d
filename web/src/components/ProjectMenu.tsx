import { Plus } from 'lucide-react';
import type { Project } from '@/api/records';
import { Menu, MenuItem } from '@/ui/Menu';
import type { MenuPlace } from '@/ui/MenuButton';
import { ProjectItems } from './ProjectItems';

/** ProjectMenu has a link to each project and an entry to create one. */
export function ProjectMenu({
  project,
  onCreate,
  ...place
}: MenuPlace & { project: Project | null; onCreate(): void }) {
  return (
    <Menu {...place} align="start" label="Projects">
      <ProjectItems project={project} />
      <MenuItem icon={<Plus className="size-4" />} onSelect={onCreate}>
        New project
      </MenuItem>
    </Menu>
  );
}
