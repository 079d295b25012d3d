import { useQuery } from '@tanstack/react-query';
import { Outlet, useNavigate, useRouterState } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { useBulkAction } from '@/components/bulkAction';
import { openNewItem, useNewItem } from '@/components/newItem';
import { useCurrentProject } from '@/components/project';
import { useStartRunDialog } from '@/components/startRun';
import { inboxQuery } from '@/data/queries';
import { focusIfLost } from '@/lib/focus';
import { lazily } from '@/lib/lazily';
import { useShortcuts } from '@/lib/shortcuts';
import { ConnectionBanner } from './Connection';
import { destinations, inboxDestination, projectDestinations, settingsDestination } from './destinations';
import { BottomBar, Nav } from './Nav';
import { useNeedsYou } from './useNeedsYou';

const Palette = lazily(async () => (await import('./Palette')).Palette);
const Help = lazily(async () => (await import('./Help')).Help);
const NewItemDialog = lazily(async () => (await import('@/components/NewItemDialog')).NewItemDialog);
const StartRunDialog = lazily(async () => (await import('@/components/StartRunDialog')).StartRunDialog);
const BulkDialog = lazily(async () => (await import('@/components/BulkDialog')).BulkDialog);

/** Shell is the frame of every page: the navigation, the palette, the help, the connection's state. */
export function Shell() {
  const [overlay, setOverlay] = useState<'palette' | 'help' | null>(null);
  const path = useRouterState({ select: (state) => state.location.pathname });
  const project = useCurrentProject();
  const navigate = useNavigate();
  useNeedsYou();
  const { data: inbox = [] } = useQuery(inboxQuery(false));
  const creating = useNewItem((state) => state.seed !== null);
  const starting = useStartRunDialog((state) => state.seed !== null);
  const asking = useBulkAction((state) => state.action !== null);
  // After a change of page the focus goes to the content, so that Tab does not pass the whole navigation again.
  const last = useRef(path);
  useEffect(() => {
    if (last.current !== path) focusIfLost('#main');
    last.current = path;
  }, [path]);
  const narrow = /^\/runs\/./.test(path);
  const places = [
    inboxDestination,
    ...(project ? projectDestinations(project.slug) : []),
    ...destinations,
    settingsDestination,
  ];

  useShortcuts(
    Object.fromEntries(places.map((place) => [`g ${place.key}`, () => void navigate(place.link)])),
  );
  useShortcuts({ c: () => project && openNewItem({ project_id: project.id }) });
  useShortcuts({ 'Shift+?': () => setOverlay('help'), '/': () => setOverlay('palette') });
  useShortcuts(
    { '$mod+k': () => setOverlay((open) => (open === 'palette' ? null : 'palette')) },
    { everywhere: true },
  );

  return (
    <div className="flex h-full">
      <a
        href="#main"
        className="sr-only z-50 rounded-md bg-raised px-3 py-2 text-sm shadow-2 focus:not-sr-only focus:absolute focus:top-2 focus:left-2"
      >
        Skip to content
      </a>
      <Nav
        narrow={narrow}
        project={project}
        inbox={inbox.length}
        onSearch={() => setOverlay('palette')}
        onHelp={() => setOverlay('help')}
      />
      <div className="flex min-w-0 flex-1 flex-col">
        <ConnectionBanner />
        <main id="main" tabIndex={-1} className="flex min-h-0 flex-1 flex-col outline-none">
          <Outlet />
        </main>
        <BottomBar project={project} inbox={inbox.length} onSearch={() => setOverlay('palette')} />
      </div>
      {creating && <NewItemDialog />}
      {starting && <StartRunDialog />}
      {asking && <BulkDialog />}
      {overlay === 'palette' && (
        <Palette project={project} places={places} onClose={() => setOverlay(null)} />
      )}
      {overlay === 'help' && <Help onClose={() => setOverlay(null)} />}
    </div>
  );
}
