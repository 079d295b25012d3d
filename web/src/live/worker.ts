// The SharedWorker that holds this browser's one event stream. Browsers allow six connections per origin over plain
// HTTP, so with one stream per tab the seventh tab could not load.
import type { Notice, Order } from './protocol';
import { EventStream } from './stream';

interface SharedScope {
  onconnect: (event: MessageEvent) => void;
}

const ports = new Set<MessagePort>();

const stream = new EventStream(
  '/api/v1/events/stream?heartbeat=5s',
  (notice) => {
    for (const port of ports) port.postMessage(notice);
  },
  {
    fetch: (url, init) => fetch(url, init),
    setTimeout: (action, ms) => setTimeout(action, ms),
    clearTimeout: (timer) => clearTimeout(timer as number),
    random: Math.random,
  },
);

(self as unknown as SharedScope).onconnect = (event) => {
  const port = event.ports[0];
  if (!port) return;
  port.onmessage = ({ data }: MessageEvent<Order>) => {
    switch (data.type) {
      case 'session': {
        ports.add(port);
        const notice: Notice = { type: 'state', state: stream.state, fresh: false };
        port.postMessage(notice);
        stream.use(data.session);
        break;
      }
      case 'wake':
        stream.wake();
        break;
      case 'bye':
        ports.delete(port);
        break;
    }
  };
};
