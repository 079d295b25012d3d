import { CircleDashed, CircleOff, Power, ShieldAlert } from 'lucide-react';
import type { Host } from '@/api/records';
import { useNow } from '@/lib/useNow';
import { StatusPill } from '@/ui/Badge';
import { cx } from '@/ui/cx';
import { tip } from '@/ui/Tooltip';
import { type HostWord, hostState } from './hostState';

function WordIcon({ word }: { word: HostWord }) {
  switch (word) {
    case 'offline':
      return <CircleOff className="size-3" />;
    case 'suspect':
      return <ShieldAlert className="size-3" />;
    case 'disabled':
      return <Power className="size-3" />;
    case 'never seen':
      return <CircleDashed className="size-3" />;
    case 'online':
      return <span className="size-1.5 rounded-full bg-current" />;
  }
}

/** HostPill shows a host's state as a word. Its tooltip explains the word. */
export function HostPill({ host }: { host: Host }) {
  const state = hostState(host, useNow());
  return (
    <StatusPill
      tone={state.tone}
      icon={<WordIcon word={state.word} />}
      stale={state.stale}
      {...tip(state.because)}
    >
      {state.word.charAt(0).toUpperCase() + state.word.slice(1)}
      {state.away && `, ${state.away}`}
      {state.stale && <span className="sr-only">, not up to date</span>}
    </StatusPill>
  );
}

const dots: Record<HostWord, string> = {
  offline: 'text-bad',
  suspect: 'text-warn',
  disabled: 'text-ink-3',
  'never seen': 'text-ink-3',
  online: 'text-ok',
};

/** HostName shows a host's name with a mark for its state. Any state but online is also shown as a word. */
export function HostName({ host, className }: { host: Host; className?: string }) {
  const { word, stale } = hostState(host, useNow());
  return (
    <span className={cx('inline-flex min-w-0 items-center gap-1.5', className)}>
      <span className={cx('flex shrink-0 items-center', dots[word], stale && 'opacity-60')}>
        <WordIcon word={word} />
      </span>
      <span className="truncate">{host.name}</span>
      {word !== 'online' && <span className={cx('shrink-0', dots[word])}>{word}</span>}
    </span>
  );
}
