import './styles.css';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { onSessionChange, session, takeLegacyToken, takeTokenFromHash } from '@/api/session';
import { queryClient } from '@/data/client';
import { signInOnce } from '@/data/signIn';
import { lazily } from '@/lib/lazily';
import { followTheme, isDark, usePrefs } from '@/lib/prefs';
import { storage } from '@/lib/storage';
import { CachePatcher } from '@/live/cache';
import { openLive } from '@/live/connect';
import { noteState } from '@/live/connection';
import { TooltipLayer } from '@/ui/Tooltip';
import { useToaster } from '@/ui/toast';
import { router } from './router';

// The printed link signs in. The token leaves the address bar at once, and with it the history.
const linked = takeTokenFromHash(location.hash);
if (linked) {
  history.replaceState(null, '', location.pathname === '/login' ? '/' : location.pathname + location.search);
}

followTheme();

// After an upgrade an open tab may ask for a chunk that is gone: it reloads, once.
window.addEventListener('vite:preloadError', (event) => {
  const mark = 'svc.reloaded';
  const last = Number(storage.getItem(mark) ?? 0);
  if (Date.now() - last < 60_000) return;
  storage.setItem(mark, String(Date.now()));
  event.preventDefault();
  location.reload();
});

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

function start(): void {
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
