import { lazy, Suspense, useEffect, useLayoutEffect, useRef, useState } from 'react';
import type { Host } from '@/api/records';
import type { RunDetail } from '@/api/schema.gen';
import { useAttachRequest } from '@/components/attachRequest';
import { canAttach } from '@/components/runState';
import { focusSoon } from '@/lib/focus';
import { persist } from '@/lib/parts';
import { useShortcuts } from '@/lib/shortcuts';
import { phone, useMedia } from '@/lib/useMedia';
import { useRoom } from '@/lib/useRoom';
import { Attachment } from '@/terminal/attach';
import { spawnCols } from '@/terminal/frame';
import type { Fitting } from '@/terminal/gridProps';
import type { Palette } from '@/terminal/palette';
import { Reader } from '@/terminal/Reader';
import { readableWidth } from '@/terminal/scale';
import { usePalette } from '@/terminal/usePalette';
import { usePane } from '@/terminal/usePane';
import { cx } from '@/ui/cx';
import { Skeleton } from '@/ui/States';
import { toast } from '@/ui/toast';
import { AttachBar } from './AttachBar';
import { Banners } from './Banners';
import { Composer, takesMessages } from './Composer';
import { ContinueRun, continuationOf } from './ContinueRun';
import { KeyBar } from './KeyBar';
import { NoScreen } from './NoScreen';
import { PaneBar, type PaneMode } from './PaneBar';

const WatchGrid = lazy(() => persist(() => import('@/terminal/WatchGrid')));
const importAttachGrid = () => persist(() => import('@/terminal/AttachGrid'));
const AttachGrid = lazy(importAttachGrid);

/** Live shows the run's terminal: watched, or attached. */
export function Live({ run, host }: { run: RunDetail; host?: Host }) {
  const small = useMedia(phone);
  const [chosen, setChosen] = useState<PaneMode | null>(null);
  const [box, roomy] = useRoom(readableWidth(spawnCols));
  const palette = usePalette();
  const state = usePane(run.id);
  const { attachment, attach, detach } = useAttachment(run);
  // An attached terminal gets the size of the window, so it is readable on any screen.
  const mode = chosen ?? (small || !(roomy || attachment) ? 'reader' : 'fit');
  const [fitting, setFitting] = useState<Fitting | null>(null);
  const capture = state.pane?.capture ?? '';
  const running = run.status === 'running';
  useEffect(() => {
    // After Attach, the user types at once, so the code for the terminal is loaded in advance.
    if (running) void importAttachGrid();
  }, [running]);
  const may = canAttach(run, host);
  const continuation = continuationOf(run, host);
  const requested = useAttachRequest(({ runId }) => runId === run.id);
  useEffect(() => {
    if (!requested) return;
    useAttachRequest.setState({ runId: null });
    if (may) attach();
  }, [requested, may, attach]);
  useShortcuts({ a: () => may && !attachment && attach() });

  return (
    <div ref={box} className="flex min-h-0 flex-1 flex-col">
      <Banners run={run} host={host} attached={attachment !== null} onAttach={attach} />
      <div
        data-attached={attachment ? '' : undefined}
        className={cx(
          'flex min-h-0 flex-1 flex-col',
          attachment && 'm-1.5 overflow-hidden rounded-lg ring-2 ring-bad',
        )}
      >
        {attachment ? (
          <AttachBar
            attachment={attachment}
            holder={run.lease?.holder}
            mode={mode}
            onMode={setChosen}
            fitting={fitting}
            onDetach={detach}
          />
        ) : state.pane === null ? null : (
          <PaneBar run={run} host={host} state={state} mode={mode} onMode={setChosen} onAttach={attach} />
        )}
        <div
          className={cx(
            'min-h-0 flex-1 overflow-hidden transition-opacity',
            state.lostAt !== null && !attachment && 'opacity-60',
          )}
        >
          {!state.pane && !attachment ? (
            <NoScreen run={run} live={state.live} />
          ) : mode === 'reader' ? (
            <ReaderPane capture={capture} palette={palette} />
          ) : (
            <Suspense fallback={<GridPlace typing={attachment !== null} />}>
              {attachment ? (
                <AttachGrid
                  attachment={attachment}
                  seed={capture}
                  scale={mode === 'fit' ? 'fit' : 'full'}
                  palette={palette}
                  onDetach={detach}
                  onFitting={setFitting}
                />
              ) : (
                <WatchGrid capture={capture} scale={mode === 'fit' ? 'fit' : 'full'} palette={palette} />
              )}
            </Suspense>
          )}
        </div>
        {!attachment && takesMessages(run, host) && <Composer run={run} host={host} />}
        {continuation && <ContinueRun run={run} how={continuation} />}
        {(attachment ? mode === 'reader' : small) && running && (
          <KeyBar run={run} attachment={attachment} ready={!small} />
        )}
      </div>
    </div>
  );
}

/**
 * ReaderPane shows the screen as text, scrolled to the end, where agents write. It follows the end until the user
 * scrolls up.
 */
function ReaderPane({ capture, palette }: { capture: string; palette: Palette }) {
  const pane = useRef<HTMLElement>(null);
  const atEnd = useRef(true);
  // biome-ignore lint/correctness/useExhaustiveDependencies: every new screen moves the end
  useLayoutEffect(() => {
    if (pane.current && atEnd.current) pane.current.scrollTop = pane.current.scrollHeight;
  }, [capture]);
  return (
    <section
      ref={pane}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        atEnd.current = scrollHeight - scrollTop - clientHeight < 24;
      }}
      aria-label="Screen, as text"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it
      tabIndex={0}
      className="h-full overflow-auto"
    >
      <Reader capture={capture} palette={palette} />
    </section>
  );
}

/**
 * GridPlace is a placeholder for the terminal while its code loads. After Attach it takes the focus, so that typed keys
 * do not trigger the page's shortcuts.
 */
function GridPlace({ typing }: { typing: boolean }) {
  return (
    <div
      data-terminal
      tabIndex={-1}
      ref={(element) => {
        if (typing) element?.focus();
      }}
      className="h-full outline-none"
    >
      <Skeleton className="h-full rounded-none" />
    </div>
  );
}

/** useAttachment attaches to and detaches from the shared terminal. */
function useAttachment(run: RunDetail) {
  const [attachment, setAttachment] = useState<Attachment | null>(null);
  const over = run.status !== 'running';
  useEffect(() => {
    if (!attachment) return;
    const stop = attachment.store.subscribe(({ lease }) => {
      if (lease.phase !== 'ended') return;
      setAttachment(null);
      toast(`Detached: ${lease.why}`);
    });
    return () => {
      stop();
      attachment.close();
    };
  }, [attachment]);
  useEffect(() => {
    if (over) setAttachment(null);
  }, [over]);
  return {
    attachment,
    attach: () => attachment ?? setAttachment(new Attachment(run.id)),
    detach: () => {
      setAttachment(null);
      focusSoon('[data-attach]');
    },
  };
}
