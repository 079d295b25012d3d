import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router';
import { messageOf } from '@/api/error';
import { type Kind, kinds } from '@/api/records';
import { session } from '@/api/session';
import { NotFound } from '@/components/NotFound';
import { PartError, persist } from '@/lib/parts';
import { ErrorState } from '@/ui/States';
import { Shell } from './Shell';

/** page is the component of a route, loaded at the first visit. While the server cannot be reached, it waits. */
const page: typeof lazyRouteComponent = (load, name) => lazyRouteComponent(() => persist(load), name);

const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

/** words returns a typed search as text. The router parses a search for digits as a number. */
const words = (value: unknown): string | undefined => text(value === undefined ? undefined : String(value));

const root = createRootRoute({
  component: Outlet,
  notFoundComponent: () => (
    <main className="h-full">
      <NotFound />
    </main>
  ),
});

const login = createRoute({
  getParentRoute: () => root,
  path: '/login',
  validateSearch: (search): { next?: string } => ({ next: text(search.next) }),
  beforeLoad: ({ search }) => {
    // Only a path of this origin: a link must not redirect to another site after signing in.
    if (session())
      throw redirect({ href: search.next && /^\/(?![/\\])/.test(search.next) ? search.next : '/' });
  },
  component: page(() => import('@/pages/login/LoginPage'), 'LoginPage'),
});

/** shell is the parent of all routes that need a signed-in user. */
const shell = createRoute({
  getParentRoute: () => root,
  id: 'shell',
  beforeLoad: ({ location }) => {
    if (!session())
      throw redirect({ to: '/login', search: location.href === '/' ? {} : { next: location.href } });
  },
  component: Shell,
});

const home = createRoute({
  getParentRoute: () => shell,
  path: '/',
  component: page(() => import('@/pages/home/HomePage'), 'HomePage'),
});

/** ItemSearch is the work item whose sheet is open over a page. */
interface ItemSearch {
  item?: string;
}
const itemSearch = (search: Record<string, unknown>): ItemSearch => ({ item: text(search.item) });

/** BoardSearch is the view of a board. Its address can be bookmarked and sent. */
interface BoardSearch extends ItemSearch {
  q?: string;
  /** Absent: the levels that were chosen last. */
  levels?: Kind[];
}

const board = createRoute({
  getParentRoute: () => shell,
  path: '/p/$slug/board',
  validateSearch: (search): BoardSearch => ({
    ...itemSearch(search),
    q: words(search.q),
    levels: Array.isArray(search.levels)
      ? kinds.filter((kind) => (search.levels as unknown[]).includes(kind))
      : undefined,
  }),
  component: page(() => import('@/pages/board/BoardPage'), 'BoardPage'),
});

const tree = createRoute({
  getParentRoute: () => shell,
  path: '/p/$slug/tree',
  validateSearch: itemSearch,
  component: page(() => import('@/pages/tree/TreePage'), 'TreePage'),
});

const projectSettings = createRoute({
  getParentRoute: () => shell,
  path: '/p/$slug/settings',
  component: page(() => import('@/pages/project/ProjectSettingsPage'), 'ProjectSettingsPage'),
});

const workItem = createRoute({
  getParentRoute: () => shell,
  path: '/t/$id',
  validateSearch: (search): { tab?: string } => ({ tab: text(search.tab) }),
  component: page(() => import('@/pages/item/ItemPage'), 'ItemPage'),
});

/** RunsSearch has the filters and the order of the list of runs. Its address can be bookmarked and sent. */
export interface RunsSearch {
  q?: string;
  sort?: string;
  status?: string;
  project?: string;
  host?: string;
  provider?: string;
}

const runs = createRoute({
  getParentRoute: () => shell,
  path: '/runs',
  validateSearch: (search): RunsSearch => ({
    q: words(search.q),
    sort: text(search.sort),
    status: text(search.status),
    project: text(search.project),
    host: text(search.host),
    provider: text(search.provider),
  }),
  component: page(() => import('@/pages/runs/RunsPage'), 'RunsPage'),
});

const run = createRoute({
  getParentRoute: () => shell,
  path: '/runs/$runId',
  validateSearch: (search): { tab?: string; event?: number } => ({
    tab: text(search.tab),
    event: Number.isInteger(search.event) ? (search.event as number) : undefined,
  }),
  component: page(() => import('@/pages/run/RunPage'), 'RunPage'),
});

/** WallSearch filters the screens on the wall, and names the one that is enlarged. */
interface WallSearch {
  project?: string;
  host?: string;
  runs?: string[];
  open?: string;
}

const wall = createRoute({
  getParentRoute: () => shell,
  path: '/wall',
  validateSearch: (search): WallSearch => ({
    project: text(search.project),
    host: text(search.host),
    runs: Array.isArray(search.runs) ? search.runs.map(String) : undefined,
    open: text(search.open),
  }),
  component: page(() => import('@/pages/wall/WallPage'), 'WallPage'),
});

const queue = createRoute({
  getParentRoute: () => shell,
  path: '/queue',
  validateSearch: (search): { project?: string } => ({ project: text(search.project) }),
  component: page(() => import('@/pages/queue/QueuePage'), 'QueuePage'),
});

const hosts = createRoute({
  getParentRoute: () => shell,
  path: '/hosts',
  validateSearch: (search): { q?: string; sort?: string } => ({
    q: words(search.q),
    sort: text(search.sort),
  }),
  component: page(() => import('@/pages/hosts/HostsPage'), 'HostsPage'),
});

const host = createRoute({
  getParentRoute: () => shell,
  path: '/hosts/$hostId',
  component: page(() => import('@/pages/host/HostPage'), 'HostPage'),
});

const activity = createRoute({
  getParentRoute: () => shell,
  path: '/activity',
  validateSearch: (search): { about?: string; project?: string } => ({
    about: text(search.about),
    project: text(search.project),
  }),
  component: page(() => import('@/pages/activity/ActivityPage'), 'ActivityPage'),
});

const inbox = createRoute({
  getParentRoute: () => shell,
  path: '/inbox',
  validateSearch: (search): { snoozed?: true } => (search.snoozed === true ? { snoozed: true } : {}),
  component: page(() => import('@/pages/inbox/InboxPage'), 'InboxPage'),
});

const providers = createRoute({
  getParentRoute: () => shell,
  path: '/providers',
  component: page(() => import('@/pages/providers/ProvidersPage'), 'ProvidersPage'),
});

const settings = createRoute({
  getParentRoute: () => shell,
  path: '/settings',
  component: page(() => import('@/pages/settings/SettingsPage'), 'SettingsPage'),
});

/** router contains all routes. A new page needs a route here and an entry in destinations.ts. */
export const router = createRouter({
  routeTree: root.addChildren([
    login,
    shell.addChildren([
      home,
      board,
      tree,
      projectSettings,
      workItem,
      runs,
      run,
      wall,
      queue,
      hosts,
      host,
      activity,
      inbox,
      providers,
      settings,
    ]),
  ]),
  defaultPreload: 'intent',
  defaultErrorComponent: ({ error, reset }) => (
    <ErrorState
      page
      title="This page broke"
      message={messageOf(error)}
      retry={error instanceof PartError ? () => location.reload() : reset}
      className="pt-[12vh]"
    />
  ),
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
