import { prefix } from '@/api/client';
import { backoff } from '@/live/stream';

/** socketUrl returns the address of a run's socket. The browser sends the session's cookie with it. */
export function socketUrl(runId: string, kind: 'pane' | 'attach'): string {
  const url = new URL(`${prefix}/runs/${encodeURIComponent(runId)}/${kind}/ws`, location.href);
  url.protocol = url.protocol.replace('http', 'ws');
  return url.href;
}

/** SocketHandlers has the callbacks of a LiveSocket. */
export interface SocketHandlers {
  opened?(): void;
  message(data: string): void;
  /** The socket closed. False: it stays closed. True: it is opened again after a delay. */
  closed(code: number, reason: string): boolean;
}

/** LiveSocket is a WebSocket that reconnects: with growing delays, and at once when the network is back. */
export class LiveSocket {
  private socket: WebSocket | null = null;
  private timer = 0;
  private failures = 0;
  private over = false;

  constructor(
    private readonly url: () => string,
    private readonly handlers: SocketHandlers,
  ) {
    window.addEventListener('online', this.wake);
    document.addEventListener('visibilitychange', this.wake);
    this.open();
  }

  /** send sends a text. It reports whether the socket was open. */
  send(data: string): boolean {
    if (this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(data);
    return true;
  }

  /** close closes the socket and stops reconnecting. */
  close(): void {
    this.over = true;
    window.clearTimeout(this.timer);
    window.removeEventListener('online', this.wake);
    document.removeEventListener('visibilitychange', this.wake);
    this.socket?.close(1000);
  }

  /** wake ends the delay before the next attempt. */
  readonly wake = (): void => {
    if (this.timer === 0 || document.visibilityState === 'hidden') return;
    this.failures = 0;
    this.open();
  };

  private open(): void {
    window.clearTimeout(this.timer);
    this.timer = 0;
    const socket = new WebSocket(this.url());
    this.socket = socket;
    socket.onopen = () => {
      if (this.over) return;
      this.failures = 0;
      this.handlers.opened?.();
    };
    socket.onmessage = ({ data }) => {
      if (!this.over) this.handlers.message(String(data));
    };
    socket.onclose = ({ code, reason }) => {
      if (this.over) return;
      if (!this.handlers.closed(code, reason)) {
        this.close();
        return;
      }
      this.timer = window.setTimeout(() => this.open(), backoff(this.failures++, Math.random()));
    };
  }
}
