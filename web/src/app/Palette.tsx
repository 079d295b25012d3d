import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Command } from 'cmdk';
import { FolderKanban, LogOut, Moon, Plus, Sun } from 'lucide-react';
import { Dialog } from 'radix-ui';
import { type ReactNode, useState } from 'react';
import type { Project, WorkItem } from '@/api/records';
import { openNewItem } from '@/components/newItem';
import { KindIcon } from '@/components/status';
import { projectsQuery, workItemsQuery } from '@/data/queries';
import { signOut } from '@/data/signIn';
import { isDark, setPref, usePrefs } from '@/lib/prefs';
import { Kbd } from '@/ui/Kbd';
import type { Destination } from './destinations';

/** How many work items the palette offers at a time. */
const most = 30;

const matches = (text: string, query: string): boolean =>
  query
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.toLowerCase().includes(word));

/** Palette finds a page, a work item or a command by a few letters. */
export function Palette({
  project,
  places,
  onClose,
}: {
  project: Project | null;
  places: Destination[];
  onClose(): void;
}) {
  const [query, setQuery] = useState('');
  const search = query.trim();
  const navigate = useNavigate();
  const theme = usePrefs((prefs) => prefs.theme);
  const { data: projects = [] } = useQuery(projectsQuery);
  const { data: items = [] } = useQuery({ ...workItemsQuery(project?.id ?? ''), enabled: project !== null });
  const found = search === '' ? [] : items.filter((item) => matches(item.title, search)).slice(0, most);
  const run = (action: () => unknown) => () => {
    onClose();
    void action();
  };
  const offer = (text: string): boolean => search === '' || matches(text, search);
  const openItem = (item: WorkItem) =>
    project && navigate({ to: '/p/$slug/board', params: { slug: project.slug }, search: { item: item.id } });

  return (
    <Dialog.Root open onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className="fixed inset-0 z-40 animate-fade bg-scrim backdrop-blur-[2px]" />
        <Dialog.Content
          aria-describedby={undefined}
          data-modal
          className="fixed inset-x-3 top-[14vh] z-40 mx-auto max-w-xl animate-in overflow-hidden rounded-xl bg-panel shadow-3 outline-none ring-1 ring-line-strong"
        >
          <Dialog.Title className="sr-only">Command palette</Dialog.Title>
          <Command shouldFilter={false} loop>
            <Command.Input
              value={query}
              onValueChange={setQuery}
              placeholder="Find a work item, a page or a command…"
              className="h-12 w-full border-b bg-transparent px-4 text-base outline-none placeholder:text-ink-3"
            />
            <Command.List className="max-h-[46vh] overflow-y-auto p-1.5">
              <Command.Empty className="px-3 py-8 text-center text-sm text-ink-3">
                Nothing matches “{search}”.
              </Command.Empty>
              {found.length > 0 && (
                <Group title="Work items">
                  {found.map((item) => (
                    <Row
                      key={item.id}
                      value={item.id}
                      icon={<KindIcon kind={item.kind} />}
                      onSelect={run(() => openItem(item))}
                    >
                      {item.title}
                    </Row>
                  ))}
                </Group>
              )}
              <Group title="Do">
                {project && offer('New work item') && (
                  <Row
                    value="new"
                    icon={<Plus className="size-4" />}
                    hint="c"
                    onSelect={run(() => openNewItem({ project_id: project.id }))}
                  >
                    New work item
                  </Row>
                )}
                {offer('Switch theme dark light') && (
                  <Row
                    value="theme"
                    icon={isDark(theme) ? <Sun className="size-4" /> : <Moon className="size-4" />}
                    onSelect={run(() => setPref('theme', isDark(theme) ? 'light' : 'dark'))}
                  >
                    Switch to the {isDark(theme) ? 'light' : 'dark'} theme
                  </Row>
                )}
                {offer('Sign out') && (
                  <Row
                    value="sign-out"
                    icon={<LogOut className="size-4" />}
                    onSelect={run(() => void signOut())}
                  >
                    Sign out
                  </Row>
                )}
              </Group>
              <Group title="Go to">
                {places
                  .filter((place) => offer(place.label))
                  .map((place) => (
                    <Row
                      key={place.label}
                      value={`go ${place.label}`}
                      icon={<place.icon className="size-4" />}
                      hint={`g ${place.key}`}
                      onSelect={run(() => navigate(place.link))}
                    >
                      {place.label}
                    </Row>
                  ))}
              </Group>
              <Group title="Projects">
                {projects
                  .filter((other) => other.id !== project?.id && offer(other.name))
                  .map((other) => (
                    <Row
                      key={other.id}
                      value={other.id}
                      icon={<FolderKanban className="size-4" />}
                      onSelect={run(() =>
                        navigate({ to: '/p/$slug/board', params: { slug: other.slug }, search: {} }),
                      )}
                    >
                      {other.name}
                    </Row>
                  ))}
              </Group>
            </Command.List>
          </Command>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

function Group({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Command.Group
      heading={title}
      className="[&:not(:has([cmdk-item]))]:hidden [&_[cmdk-group-heading]]:px-2.5 [&_[cmdk-group-heading]]:pt-2 [&_[cmdk-group-heading]]:pb-1 [&_[cmdk-group-heading]]:text-2xs [&_[cmdk-group-heading]]:font-medium [&_[cmdk-group-heading]]:text-ink-3"
    >
      {children}
    </Command.Group>
  );
}

function Row({
  value,
  icon,
  hint,
  onSelect,
  children,
}: {
  value: string;
  icon: ReactNode;
  hint?: string;
  onSelect(): void;
  children: ReactNode;
}) {
  return (
    <Command.Item
      value={value}
      onSelect={onSelect}
      className="flex h-9 cursor-default items-center gap-3 rounded-md px-2.5 text-sm data-[selected=true]:bg-hover"
    >
      <span className="flex size-4 items-center justify-center text-ink-3">{icon}</span>
      <span className="min-w-0 flex-1 truncate">{children}</span>
      {hint && <Kbd keys={hint} />}
    </Command.Item>
  );
}
