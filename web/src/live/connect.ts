import { noteSession, onSessionChange, session } from '@/api/session';
import type { Notice, Order } from './protocol';
import { EventStream } from './stream';

/** How long, in ms, a tab without a SharedWorker keeps its stream after the tab was hidden. */
const hiddenGrace = 30_000;

/** Link is the tab's side of the event stream. */
interface Link {
  send(order: Order): void;
  /** Called when the tab is hidden or shown. */
  visible(visible: boolean): void;
}

/** openLive connects the tab to the browser's event stream for as long as the page is loaded. */
export function openLive(onNotice: (notice: Notice) => void): void {
  const receive = (notice: Notice): void => {
    if (notice.type === 'unauthorized') noteSession(null);
    onNotice(notice);
  };
  const link = sharedLink(receive) ?? ownLink(receive);
  link.send({ type: 'session', session: session() });
  onSessionChange(() => link.send({ type: 'session', session: session() }));

  window.addEventListener('online', () => link.send({ type: 'wake' }));
  document.addEventListener('visibilitychange', () => {
    const visible = document.visibilityState === 'visible';
    link.visible(visible);
    if (visible) link.send({ type: 'wake' });
  });
  window.addEventListener('pagehide', () => link.send({ type: 'bye' }));
  window.addEventListener('pageshow', (event) => {
    if (!event.persisted) return;
    link.send({ type: 'session', session: session() });
    onNotice({ type: 'missed' });
  });
}

function sharedLink(onNotice: (notice: Notice) => void): Link | null {
  if (typeof SharedWorker === 'undefined') return null;
  try {
    const worker = new SharedWorker(new URL('./worker.ts', import.meta.url), {
      type: 'module',
      name: 'svc-events',
    });
    worker.port.onmessage = ({ data }: MessageEvent<Notice>) => onNotice(data);
    return { send: (order) => worker.port.postMessage(order), visible: () => {} };
  } catch {
    return null;
  }
}

function ownLink(onNotice: (notice: Notice) => void): Link {
  const stream = new EventStream('/api/v1/events/stream?heartbeat=5s', onNotice, {
    fetch: (url, init) => fetch(url, init),
    setTimeout: (action, ms) => window.setTimeout(action, ms),
    clearTimeout: (timer) => window.clearTimeout(timer as number),
    random: Math.random,
  });
  let timer = 0;
  return {
    send(order) {
      if (order.type === 'session') {
        stream.use(order.session);
        stream.resume();
      } else if (order.type === 'wake') stream.wake();
      else stream.pause();
    },
    visible(visible) {
      window.clearTimeout(timer);
      if (visible) stream.resume();
      else timer = window.setTimeout(() => stream.pause(), hiddenGrace);
    },
  };
}
