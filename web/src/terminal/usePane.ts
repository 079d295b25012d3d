import { useEffect, useState } from 'react';
import type { Pane } from '@/api/schema.gen';
import { LiveSocket, socketUrl } from './socket';

/** PaneState is a run's screen and the state of its connection. */
export interface PaneState {
  /** The newest screen. Null: none has arrived yet. */
  pane: Pane | null;
  /** Whether changes arrive. */
  live: boolean;
  /** When the socket was lost, in ms. Null while it is open or is being opened for the first time. */
  lostAt: number | null;
}

const nothing: PaneState = { pane: null, live: false, lostAt: null };

/**
 * usePane watches a run's screen while the component is mounted. While the socket is lost, it keeps the last screen.
 */
export function usePane(runId: string): PaneState {
  const [state, setState] = useState<PaneState & { runId: string }>({ ...nothing, runId });
  useEffect(() => {
    setState((last) => (last.runId === runId ? last : { ...nothing, runId }));
    const socket = new LiveSocket(() => socketUrl(runId, 'pane'), {
      opened: () => setState((last) => ({ ...last, live: true, lostAt: null })),
      message: (data) => {
        const pane = JSON.parse(data) as Pane;
        setState((last) => ({ ...last, pane }));
      },
      closed: () => {
        setState((last) => ({ ...last, live: false, lostAt: last.lostAt ?? Date.now() }));
        return true;
      },
    });
    return () => socket.close();
  }, [runId]);
  return state.runId === runId ? state : nothing;
}
