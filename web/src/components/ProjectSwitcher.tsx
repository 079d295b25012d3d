import { ChevronsUpDown } from 'lucide-react';
import { useState } from 'react';
import type { Project } from '@/api/records';
import { lazily } from '@/lib/lazily';
import { cx } from '@/ui/cx';
import { MenuButton } from '@/ui/MenuButton';
import { ProjectMark } from './ProjectMark';

const ProjectMenu = lazily(async () => (await import('./ProjectMenu')).ProjectMenu);
const NewProjectDialog = lazily(async () => (await import('./NewProjectDialog')).NewProjectDialog);

/** ProjectSwitcher shows the current project and opens a menu of the others. */
export function ProjectSwitcher({ project, words }: { project: Project | null; words: string }) {
  const [creating, setCreating] = useState(false);
  return (
    <>
      <MenuButton
        trigger={(props) => (
          <button
            type="button"
            {...props}
            aria-description="Switch project"
            className="flex h-9 items-center gap-2 rounded-md px-2 text-left hover:bg-hover data-[state=open]:bg-hover"
          >
            <ProjectMark name={project?.name ?? 'svc'} />
            <span className={cx('min-w-0 flex-1 truncate text-sm font-semibold tracking-tight', words)}>
              {project?.name ?? 'svc'}
            </span>
            <ChevronsUpDown className={cx('size-3.5 shrink-0 text-ink-3', words)} />
          </button>
        )}
        menu={(place) => <ProjectMenu {...place} project={project} onCreate={() => setCreating(true)} />}
      />
      {creating && <NewProjectDialog open onClose={() => setCreating(false)} />}
    </>
  );
}
