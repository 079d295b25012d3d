import { type UseQueryResult, useInfiniteQuery, useQueries, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Command } from 'cmdk';
import {
  FolderKanban,
  Keyboard,
  ListOrdered,
  LogOut,
  Moon,
  Play,
  Plus,
  Server,
  Square,
  SquareTerminal,
  Sun,
} from 'lucide-react';
import { Dialog } from 'radix-ui';
import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { type Host, itemRef, type Project, type Run, taskRef, type WorkItem } from '@/api/records';
import { requestAttach } from '@/components/attachRequest';
import { hostWord } from '@/components/hostState';
import { openNewItem } from '@/components/newItem';
import { RunPill } from '@/components/RunPill';
import { StopDialog } from '@/components/StopDialog';
import { openStartRun } from '@/components/startRun';
import { KindIcon } from '@/components/status';
import {
  activeRunsQuery,
  endedRunsQuery,
  hostsQuery,
  projectsQuery,
  runQuery,
  workItemsQuery,
} from '@/data/queries';
import { signOut } from '@/data/signIn';
import { isDark, setPref, usePrefs } from '@/lib/prefs';
import { Kbd } from '@/ui/Kbd';
import type { Destination } from './destinations';
import { findHosts, findItems, findRuns, fits, parse, type Verb, verbs } from './paletteFind';

/** How many results of each kind the palette shows. */
const most = 20;
const wholeId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const verbIcons: Record<Verb, ReactNode> = {
  start: <Play className="size-4" />,
  queue: <ListOrdered className="size-4" />,
  attach: <Keyboard className="size-4" />,
  stop: <Square className="size-3.5" />,
};

/** listsOf returns the data of several queries, and whether one of them is still loading. */
const listsOf = (results: readonly UseQueryResult<WorkItem[]>[]) => ({
  lists: results.map(({ data }) => data ?? []),
  reading: results.some(({ isLoading }) => isLoading),
});

/** useEverything loads what a search covers: all projects' items, the hosts, and the active and newest ended runs. */
function useEverything(searching: boolean, projects: readonly Project[], id: string | null) {
  const { lists, reading } = useQueries({
    queries: projects.map((project) => ({ ...workItemsQuery(project.id), enabled: searching })),
    combine: listsOf,
  });
  const items = useMemo(() => (searching ? lists.flat() : []), [searching, lists]);
  const { data: hosts = [] } = useQuery({ ...hostsQuery, enabled: searching });
  const active = useQuery({ ...activeRunsQuery({}), enabled: searching });
  const ended = useInfiniteQuery({ ...endedRunsQuery({}), enabled: searching });
  const named = useQuery({ ...runQuery(id ?? ''), enabled: id !== null, retry: false });
  const runs = useMemo(() => {
    const found = new Map<string, Run>();
    for (const run of [...(active.data ?? []), ...(ended.data?.pages.flatMap((page) => page.items) ?? [])])
      found.set(run.id, run);
    if (named.data) found.set(named.data.id, named.data);
    return [...found.values()];
  }, [active.data, ended.data, named.data]);
  return {
    items,
    hosts,
    runs,
    reading: reading || active.isLoading || ended.isLoading || named.isLoading,
  };
}

const page = (): HTMLElement | null => document.getElementById('root');

/**
 * useHiddenPage returns a function that hides the page from screen readers until the component is unmounted. Call it
 * after the focus has left the page.
 */
function useHiddenPage(): () => void {
  useEffect(() => () => page()?.removeAttribute('aria-hidden'), []);
  return () => page()?.setAttribute('aria-hidden', 'true');
}

/** Palette finds work items, runs, hosts and pages by a few letters, and runs commands on them. */
export function Palette({
  project,
  places,
  onClose,
}: {
  project: Project | null;
  places: Destination[];
  onClose(): void;
}) {
  const [typed, setTyped] = useState('');
  const input = useRef<HTMLInputElement>(null);
  const [stopping, setStopping] = useState<Run | null>(null);
  const hidePage = useHiddenPage();
  const { verb, words } = parse(typed);
  const navigate = useNavigate();
  const theme = usePrefs((prefs) => prefs.theme);
  const { data: projects = [] } = useQuery(projectsQuery);
  const searching = words !== '' || verb !== null;
  const all = useEverything(searching, projects, wholeId.test(words) ? words.toLowerCase() : null);
  const hostOf = useMemo(() => new Map(all.hosts.map((host) => [host.id, host])), [all.hosts]);
  const items = searching ? findItems(all.items, words, verb, project?.id).slice(0, most) : [];
  const runs = searching ? findRuns(all.runs, hostOf, words, verb).slice(0, most) : [];
  const hosts = searching ? findHosts(all.hosts, words, verb).slice(0, most) : [];
  const run = (action: () => unknown) => () => {
    onClose();
    void action();
  };
  /** ask puts a verb into the field. The user types its object after it. */
  const ask = (begin: Verb): void => {
    flushSync(() => setTyped(`${begin} `));
    input.current?.focus();
    input.current?.setSelectionRange(begin.length + 1, begin.length + 1);
  };
  const offer = (text: string): boolean => verb === null && (words === '' || fits(words, text));
  const onItem = (item: WorkItem): unknown => {
    if (verb) return openStartRun(item, undefined, { wait: verb === 'queue' });
    return navigate({
      to: '/p/$slug/board',
      params: { slug: item.project_slug },
      search: { item: item.id },
    });
  };
  const onRun = (each: Run) => (): void => {
    if (verb === 'stop') {
      setStopping(each);
      return;
    }
    if (verb === 'attach') requestAttach(each.id);
    run(() => navigate({ to: '/runs/$runId', params: { runId: each.id }, search: {} }))();
  };

  if (stopping)
    return <StopDialog run={stopping} host={hostOf.get(stopping.host_id ?? '')} onClose={onClose} />;
  return (
    // Radix must not make it modal: it would set pointer-events on every element of the page. Instead the scrim receives
    // the pointer events, the whole page is hidden from screen readers, and Tab is ignored, because only the field can
    // have the focus.
    <Dialog.Root open modal={false} onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <div aria-hidden className="fixed inset-0 z-40 animate-fade bg-scrim" />
        <Dialog.Content
          aria-describedby={undefined}
          aria-modal
          data-modal
          onKeyDown={(event) => event.key === 'Tab' && event.preventDefault()}
          className="fixed inset-x-3 top-[14vh] z-40 mx-auto max-w-xl animate-in overflow-hidden rounded-xl bg-panel shadow-3 outline-none ring-1 ring-line-strong"
        >
          <Dialog.Title className="sr-only">Command palette</Dialog.Title>
          <Command shouldFilter={false} loop>
            <Command.Input
              ref={input}
              onFocus={hidePage}
              value={typed}
              onValueChange={setTyped}
              placeholder="Find a work item, a run, a host or a page, or do something…"
              className="h-12 w-full border-b bg-transparent px-4 text-base outline-none placeholder:text-ink-3"
            />
            <Command.List className="max-h-[46vh] overflow-y-auto p-1.5">
              <Command.Empty className="px-3 py-8 text-center text-sm text-ink-3">
                {all.reading ? 'Looking…' : nothing(verb, words)}
              </Command.Empty>
              {items.length > 0 && (
                <Group
                  title={
                    verb === 'start' ? 'Start a run of' : verb === 'queue' ? 'Queue a run of' : 'Work items'
                  }
                >
                  {items.map((item) => (
                    <Row
                      key={item.id}
                      value={item.id}
                      icon={<KindIcon kind={item.kind} />}
                      about={itemRef(item)}
                      onSelect={run(() => onItem(item))}
                    >
                      {item.title}
                    </Row>
                  ))}
                </Group>
              )}
              {runs.length > 0 && (
                <Group title={verb === 'stop' ? 'Stop' : verb === 'attach' ? 'Attach to' : 'Runs'}>
                  {runs.map((each) => (
                    <Row
                      key={each.id}
                      value={each.id}
                      icon={<SquareTerminal className="size-4" />}
                      about={`${taskRef(each)} ${each.provider}`}
                      state={<RunPill run={each} host={hostOf.get(each.host_id ?? '')} />}
                      onSelect={onRun(each)}
                    >
                      {each.task_title}
                    </Row>
                  ))}
                </Group>
              )}
              {hosts.length > 0 && (
                <Hosts
                  hosts={hosts}
                  onOpen={(id) => run(() => navigate({ to: '/hosts/$hostId', params: { hostId: id } }))}
                />
              )}
              <Group title="Do">
                {verbs
                  .filter(({ label }) => offer(label))
                  .map(({ verb: each, label }) => (
                    <Row key={each} value={each} icon={verbIcons[each]} onSelect={() => ask(each)}>
                      {label}
                    </Row>
                  ))}
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

function Hosts({ hosts, onOpen }: { hosts: Host[]; onOpen(id: string): () => void }) {
  return (
    <Group title="Hosts">
      {hosts.map((host) => (
        <Row
          key={host.id}
          value={host.id}
          icon={<Server className="size-4" />}
          about={hostWord(host)}
          onSelect={onOpen(host.id)}
        >
          {host.name}
        </Row>
      ))}
    </Group>
  );
}

/** nothing returns the text for a search without results. */
function nothing(verb: Verb | null, words: string): string {
  if (verb === 'start' || verb === 'queue') return `No task matches “${words}”.`;
  if (verb) return `No run that can be ${verb === 'stop' ? 'stopped' : 'attached to'} matches “${words}”.`;
  return `Nothing matches “${words}” among work items, hosts, active runs and the newest ended ones.`;
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
  about,
  state,
  onSelect,
  children,
}: {
  value: string;
  icon: ReactNode;
  hint?: string;
  /** A description after the name, in smaller text. */
  about?: string;
  state?: ReactNode;
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
      <span className="min-w-0 flex-1 truncate">
        {children} {about && <span className="text-xs text-ink-3">{about}</span>}
      </span>
      {state}
      {hint && <Kbd keys={hint} />}
    </Command.Item>
  );
}
