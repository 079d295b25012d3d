import { Keyboard, Maximize2, Minimize2, Unplug } from 'lucide-react';
import { useEffect, useState } from 'react';
import { messageOf } from '@/api/error';
import { useMay } from '@/data/role';
import type { Attachment } from '@/terminal/attach';
import { spawnCols, spawnRows } from '@/terminal/frame';
import type { Fitting } from '@/terminal/gridProps';
import type { Lease } from '@/terminal/lease';
import { typistOf } from '@/terminal/watchers';
import { Button } from '@/ui/Button';
import { cx } from '@/ui/cx';
import { Kbd } from '@/ui/Kbd';
import { Segmented } from '@/ui/Segmented';
import { Spinner } from '@/ui/Spinner';
import { tip } from '@/ui/Tooltip';
import { modes, type PaneMode } from './PaneBar';
import { Watchers } from './Watchers';

/**
 * wordsOf describes who may type now. typist is the name of the other person who types; null: nobody; undefined: not
 * known. may false: the token does not permit typing, so the text does not explain how to type.
 */
export function wordsOf(
  lease: Lease,
  typist: string | null | undefined,
  may: boolean | undefined,
): { title: string; about: string } {
  switch (lease.phase) {
    case 'connecting':
      return { title: 'Attaching', about: 'Opening the terminal.' };
    case 'holder':
      return { title: 'You are typing', about: 'Every key goes to the agent.' };
    case 'watching':
      return {
        title: watchedTitle(lease.takenBy, typist),
        about:
          may === false
            ? 'You see everything. Your token may watch but not type.'
            : 'You see everything. The keyboard is yours when they leave, or when you take it over.',
      };
    case 'free':
      return {
        title: 'Keyboard released',
        about: 'The next key you press takes it back, unless someone else has it.',
      };
    case 'lost':
      return { title: 'Connection lost', about: 'Reconnecting. What you type now is not sent.' };
    case 'ended':
      return { title: 'Detached', about: lease.why ?? '' };
  }
}

function watchedTitle(takenBy: string | null, typist: string | null | undefined): string {
  // A third person may have taken the keyboard from takenBy since.
  if (takenBy && (typist === undefined || typist === takenBy))
    return `${takenBy} has taken over the keyboard`;
  return typist === null ? 'Nobody is typing' : `${typist || 'Someone else'} is typing`;
}

/** AttachBar is the bar above the attached terminal: who types, who watches, and the button to detach. */
export function AttachBar({
  attachment,
  holder: name,
  mode,
  onMode,
  fitting,
  onDetach,
}: {
  attachment: Attachment;
  /** The name of the person who has the keyboard; undefined: nobody has it, or it is not known. */
  holder: string | undefined;
  mode: PaneMode;
  onMode(mode: PaneMode): void;
  fitting: Fitting | null;
  onDetach(): void;
}) {
  const { lease, size, watchers } = attachment.store();
  const { follow, setFollow } = useWindowSize(attachment, mode === 'reader' ? null : fitting);
  const may = useMay('operator');
  const { title, about } = wordsOf(lease, watchers ? typistOf(watchers) : name, may);
  const holder = lease.phase === 'holder';
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1.5 border-b border-bad/40 bg-bad/8 px-3 py-1.5">
      <div role="status" className="flex min-w-0 items-center gap-2 text-xs">
        {lease.phase === 'connecting' || lease.phase === 'lost' ? (
          <Spinner className="text-bad" />
        ) : (
          <span aria-hidden className={cx('size-2 rounded-full', holder ? 'bg-bad' : 'bg-warn')} />
        )}
        <span className="font-semibold">{title}</span>
        <span className={cx('truncate max-sm:hidden', lease.notice ? 'text-warn' : 'text-ink-2')}>
          {lease.notice ? messageOf(new Error(lease.notice)) : about}
        </span>
      </div>
      <div className="flex min-w-0 text-xs">
        <Watchers watchers={watchers} />
      </div>
      <div className="ml-auto flex flex-wrap items-center gap-1.5">
        <Segmented label="How to show the screen" value={mode} onChange={onMode} options={modes} />
        {holder && mode !== 'reader' && fitting && (
          <Button
            size="sm"
            variant="ghost"
            icon={follow ? <Minimize2 className="size-3.5" /> : <Maximize2 className="size-3.5" />}
            onClick={() => {
              setFollow(!follow);
              if (follow) attachment.resize({ rows: spawnRows, cols: spawnCols });
            }}
            {...tip(
              follow
                ? `The session has the size of this window until you leave. Back to ${spawnCols}×${spawnRows}`
                : `Make the session ${fitting.cols}×${fitting.rows}, the size of this window. Its old size returns when you leave.`,
            )}
          >
            {size ? `${size.cols}×${size.rows}` : `${spawnCols}×${spawnRows}`}
          </Button>
        )}
        {lease.phase === 'watching' && may !== false && (
          <Button
            size="sm"
            icon={<Keyboard className="size-3.5" />}
            onClick={() => attachment.take()}
            {...tip('Take the keyboard at once. The person who has it is notified and continues to watch.')}
          >
            Take over
          </Button>
        )}
        {holder && (
          <Button
            size="sm"
            variant="ghost"
            className="max-sm:hidden"
            onClick={() => attachment.release()}
            {...tip('Let someone else type, and continue to watch')}
          >
            Release
          </Button>
        )}
        <Button size="sm" variant="danger" icon={<Unplug className="size-3.5" />} onClick={onDetach}>
          Detach
        </Button>
        <Kbd keys="Ctrl+\ d" className="max-sm:hidden" />
      </div>
    </div>
  );
}

/** By how many cells the session's size may differ from the window's: the measured size of a cell is not exact. */
const tolerance = 2;

/**
 * useWindowSize sets the session's size to the window's size while this client holds the lease, unless the user turns
 * that off. The server resets the size when the client leaves.
 */
function useWindowSize(attachment: Attachment, fitting: Fitting | null) {
  const [follow, setFollow] = useState(true);
  const holder = attachment.store(({ lease }) => lease.phase === 'holder');
  const cols = fitting && Math.max(40, fitting.cols);
  const rows = fitting && Math.max(10, fitting.rows);
  useEffect(() => {
    if (!holder || !follow || cols === null || rows === null) return;
    const now = attachment.store.getState().size ?? { cols: spawnCols, rows: spawnRows };
    if (Math.abs(now.cols - cols) <= tolerance && Math.abs(now.rows - rows) <= tolerance) return;
    attachment.resize({ rows, cols });
  }, [attachment, holder, follow, cols, rows]);
  return { follow, setFollow };
}
