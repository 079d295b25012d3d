import './styles.css';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { onSessionChange, session, takeLegacyToken, takeTokenFromHash } from '@/api/session';
import { queryClient } from '@/data/client';
import { signInOnce } from '@/data/signIn';
import { lazily } from '@/lib/lazily';
import { onTrouble } from '@/lib/parts';
import { followTheme, isDark, usePrefs } from '@/lib/prefs';
import { CachePatcher } from '@/live/cache';
import { openLive } from '@/live/connect';
import { noteState } from '@/live/connection';
import { TooltipLayer } from '@/ui/Tooltip';
import { loadToasts, toast, useToaster } from '@/ui/toast';
import { router } from './router';

// The link that svc prints signs in. Its token is removed at once from the address bar, and so from the history.
const linked = takeTokenFromHash(location.hash);
if (linked) {
  // The history state stays, because it has the key under which a page's state is restored after Back.
  history.replaceState(
    history.state,
    '',
    location.pathname === '/login' ? '/' : location.pathname + location.search,
  );
}

followTheme();

const Toaster = lazily(async () => (await import('@/ui/Toaster')).Toaster);

function App() {
  const theme = usePrefs((prefs) => prefs.theme);
  const toasts = useToaster((state) => state.needed);
  return (
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
      <TooltipLayer />
      {toasts && <Toaster dark={isDark(theme)} />}
    </QueryClientProvider>
  );
}

/** readyForTrouble loads the parts that show errors early, because later the server may not answer. */
function readyForTrouble(): void {
  const load = (): void => void Promise.all([Toaster.preload(), loadToasts()]).catch(() => {}); // the banner needs no loading
  if (window.requestIdleCallback) window.requestIdleCallback(load, { timeout: 1000 });
  else setTimeout(load, 1000);
  onTrouble((trouble) =>
    trouble === 'waits'
      ? toast.error('The server cannot be reached', {
          id: 'part',
          description: 'This part of the page is loaded as soon as it answers. What you typed stays.',
        })
      : toast.error('A part of the page could not be loaded', {
          id: 'part',
          description: 'Reload the page when the server answers again. Drafts are kept.',
          action: { label: 'Load anew', onClick: () => location.reload() },
        }),
  );
}

function start(): void {
  readyForTrouble();
  const patcher = new CachePatcher(queryClient);
  openLive((notice) => {
    if (notice.type === 'events') patcher.apply(notice.events);
    if (notice.type === 'missed' || (notice.type === 'state' && notice.fresh)) patcher.refreshAll();
    if (notice.type === 'state') noteState(notice.state);
  });

  onSessionChange(() => {
    if (!session()) queryClient.clear();
    void router.invalidate();
  });

  const root = document.getElementById('root');
  if (root)
    createRoot(root).render(
      <StrictMode>
        <App />
      </StrictMode>,
    );
}

const candidate = linked ?? takeLegacyToken();
if (candidate) void signInOnce(candidate).finally(start);
else start();
