import type { Host } from '@/api/records';
import { span } from '@/lib/time';
import type { Tone } from '@/ui/Badge';

/** The time without a heartbeat after which a host's state counts as stale, in ms: two heartbeats of 30 s. */
export const staleAfter = 60_000;

/** HostWord is a host's state in one word. Of several true words it is the worst. */
export type HostWord = 'offline' | 'suspect' | 'disabled' | 'never seen' | 'online';

/** HostState is the word and its explanation. */
export interface HostState {
  word: HostWord;
  tone: Tone;
  /** What the word means for new runs, as a sentence. */
  because: string;
  /** Whether the last heartbeat is too old. */
  stale: boolean;
  /**
   * Why the host takes no runs although it is online: its worker is not connected, or refuses runs. Absent: it takes runs,
   * or the word is the reason.
   */
  away?: string;
}

/** hostWord computes the word: offline, then suspect, then disabled, then online. */
export function hostWord(host: Host): HostWord {
  if (host.status === 'offline') return 'offline';
  if (host.instance_suspect) return 'suspect';
  if (host.status === 'disabled') return 'disabled';
  return host.status === 'registered' ? 'never seen' : 'online';
}

/** hostState describes a host at a time. */
export function hostState(host: Host, now: number): HostState {
  const silence = host.last_seen_at ? now - Date.parse(host.last_seen_at) : null;
  const stale = silence !== null && silence > staleAfter;
  const word = hostWord(host);
  switch (word) {
    case 'offline':
      return {
        word,
        tone: 'bad',
        stale,
        because: `No heartbeat${silence === null ? '' : ` for ${span(silence)}`}. It gets no new runs until it is back.`,
      };
    case 'suspect':
      return {
        word,
        tone: 'warn',
        stale,
        because:
          'Two workers claim to be this host. It gets no new runs until a person decides which one is right.',
      };
    case 'disabled':
      return {
        word,
        tone: 'neutral',
        stale,
        because: 'It was disabled. It gets no new runs; active runs continue.',
      };
    case 'never seen':
      return { word, tone: 'neutral', stale: false, because: 'No worker has joined as this host yet.' };
    case 'online':
      if (!host.connected) {
        const away = host.disconnected_since ? ` for ${span(now - Date.parse(host.disconnected_since))}` : '';
        return {
          word,
          tone: 'warn',
          stale,
          away: `not connected${away}`,
          because: `Its worker is not connected${away}. It gets no new runs until it is back.`,
        };
      }
      if (host.refusing) {
        return {
          word,
          tone: 'warn',
          stale,
          away: host.refusing.code === 'disk_low' ? 'disk low' : 'takes no runs',
          because: `It takes no new runs: ${host.refusing.message}. It checks again by itself.`,
        };
      }
      if (host.catalog_error) {
        return {
          word,
          tone: 'warn',
          stale,
          because: `Its provider catalog has an error, and the last good one is in force: ${host.catalog_error}.`,
        };
      }
      return {
        word,
        tone: 'ok',
        stale,
        because: stale
          ? `Its last heartbeat is ${span(silence ?? 0)} old.`
          : 'Its worker is there and takes runs.',
      };
  }
}

const order: HostWord[] = ['offline', 'suspect', 'disabled', 'never seen', 'online'];

/** takesRuns reports whether a host is available for new runs, as far as the page can tell. The host may be full. */
export const takesRuns = (host: Host): boolean =>
  hostWord(host) === 'online' && host.connected && !host.refusing;

/** worstFirst orders hosts by their word, then hosts that take no runs before those that do, then by name. */
export const worstFirst = (a: Host, b: Host): number =>
  order.indexOf(hostWord(a)) - order.indexOf(hostWord(b)) ||
  Number(takesRuns(a)) - Number(takesRuns(b)) ||
  a.name.localeCompare(b.name);
