import { type Host, isActive, isHeld, isStopping, type Run } from '@/api/records';
import { span } from '@/lib/time';
import type { Tone } from '@/ui/Badge';

/** The time without output after which a running run is called quiet, in ms. It is only a hint. */
export const quietAfter = 10 * 60_000;

/** The attempt from which a run that ends repeatedly is called a crash loop. */
const loopAttempt = 3;
/** The duration from which an attempt does not count towards a crash loop, in ms. */
const loopCalm = 60_000;

/** isCrashLoop reports whether a run repeatedly ends soon after its start. */
export function isCrashLoop(run: Run, now: number): boolean {
  if (!isActive(run) || run.attempt < loopAttempt || run.needs_input) return false;
  return run.status !== 'running' || !run.started_at || now - Date.parse(run.started_at) < loopCalm;
}

/** RunState is a run's state in one word, with its explanation. */
export interface RunState {
  word: string;
  tone: Tone;
  icon: 'clock' | 'spinner' | 'pulse' | 'hand' | 'check' | 'cross' | 'square' | 'loop';
  /** Whether the word may be out of date, because the run's host is offline. */
  stale: boolean;
  /** Which signal caused the state. */
  because: string;
  /** When the signal arrived; null: not known. */
  at: string | null;
}

/**
 * runState computes a run's state; of several it is the worst. host is the run's host, if it has one and it is loaded.
 */
export function runState(run: Run, host: Host | undefined, now: number): RunState {
  const away = isActive(run) && host?.status === 'offline';
  const base = { stale: away, at: run.updated_at };
  const suffix = run.hint
    ? ` ${run.hint}`
    : away
      ? ` ${host.name} is offline, so this is the last known state.`
      : '';
  if (isActive(run) && run.needs_input) {
    return {
      ...base,
      word: 'Needs you',
      tone: 'warn',
      icon: 'hand',
      because: `The agent's hook asked for input.${suffix}`,
    };
  }
  if (isCrashLoop(run, now) && !away) {
    const times = run.attempt - 1;
    const next = run.next_dispatch_at && run.status === 'pending' ? ' It waits out its back-off.' : '';
    return {
      ...base,
      word: 'Crash loop',
      tone: 'bad',
      icon: 'loop',
      because: `It has ended ${times} times and was started again: attempt ${run.attempt} of ${run.max_restarts + 1}.${next}${suffix}`,
    };
  }
  switch (run.status) {
    case 'pending':
      if (isHeld(run))
        return {
          ...base,
          word: 'Held',
          tone: 'neutral',
          icon: 'clock',
          because: 'It waits until someone releases it, in the queue.',
        };
      if (run.attempt > 1)
        return {
          ...base,
          word: 'Restarting',
          tone: 'warn',
          icon: 'loop',
          because: `It ended and starts again: ${waits(run)}`,
          at: run.pending_since,
        };
      return {
        ...base,
        word: 'Queued',
        tone: 'neutral',
        icon: 'clock',
        because: waits(run),
        at: run.pending_since,
      };
    case 'spawning':
      return {
        ...base,
        word: away ? 'Unknown' : 'Starting',
        tone: 'info',
        icon: 'spinner',
        because: `A host took the run; its session has not reported yet.${suffix}`,
      };
    case 'running': {
      // Missing output has no meaning while the host is offline.
      const quiet = run.last_output_at && !away ? now - Date.parse(run.last_output_at) : 0;
      const word = away ? 'Host offline' : quiet >= quietAfter ? `Quiet ${span(quiet)}` : 'Running';
      return {
        ...base,
        word,
        tone: away ? 'warn' : 'info',
        icon: 'pulse',
        because: `The wrapper reported that the session started.${suffix}`,
        at: run.started_at,
      };
    }
    case 'exited':
      return {
        ...base,
        word: run.result === 'partial_success' ? 'Partly done' : 'Finished',
        tone: 'ok',
        icon: 'check',
        because: 'The wrapper reported that the tool exited with code 0.',
        at: run.ended_at,
      };
    case 'failed':
      return { ...base, word: 'Failed', tone: 'bad', icon: 'cross', because: failure(run), at: run.ended_at };
    case 'stopped':
      return isStopping(run)
        ? {
            ...base,
            word: 'Stopping',
            tone: 'neutral',
            icon: 'spinner',
            because: 'Someone stopped it; its session has not ended yet.',
            at: run.ended_at,
          }
        : {
            ...base,
            word: 'Stopped',
            tone: 'neutral',
            icon: 'square',
            because: 'Someone stopped it.',
            at: run.ended_at,
          };
  }
}

function waits(run: Run): string {
  if (run.next_dispatch_at) return `Attempt ${run.attempt} waits out its back-off before it begins.`;
  return run.pinned_host_id ? 'It waits for the host it was pinned to.' : 'It waits for a host to take it.';
}

/** canAttach reports whether a person can type into a run's session now. */
export const canAttach = (run: Run, host: Host | undefined): boolean =>
  run.status === 'running' && host?.status !== 'offline';

/** failure explains in a sentence why a run failed. */
export function failure(run: Run): string {
  if (run.failure_reason === 'no_eligible_host') return 'No host that fits came online in time.';
  if (run.failure_reason === 'dispatch_timeout') return 'A host fitted, but none took the run in time.';
  if (run.failure_reason === 'host_lost') return 'Its host went away and did not come back.';
  if (run.error) return run.error;
  if (run.exit_code === -1) return 'Its session ended without a report.';
  return `The wrapper reported that the tool exited with code ${run.exit_code ?? 'unknown'}.`;
}

/** weight orders the runs of one work item: runs that wait for a person first, then other active runs. */
const weight = (run: Run): number => (isActive(run) ? (run.needs_input ? 2 : 1) : 0);

/**
 * latestRuns returns, for each work item, the run with the highest weight; of equal weights the newest. The runs must be
 * sorted newest first.
 */
export function latestRuns(runs: readonly Run[]): Map<string, Run> {
  const latest = new Map<string, Run>();
  for (const run of runs) {
    const known = latest.get(run.task_id);
    if (!known || weight(run) > weight(known)) latest.set(run.task_id, run);
  }
  return latest;
}

/**
 * How much newer an output must be, in ms, for a board to be rendered again: its time only shows which runs are quiet.
 */
const outputStep = 60_000;

/** alike reports whether two versions of a run look the same on a card. */
function alike(a: Run, b: Run): boolean {
  if (a === b) return true;
  for (const name of Object.keys(b) as (keyof Run)[]) {
    if (a[name] === b[name]) continue;
    if (name !== 'last_output_at' || !a[name] || !b[name]) return false;
    if (Date.parse(b[name]) - Date.parse(a[name]) >= outputStep) return false;
  }
  return true;
}

/**
 * calmRuns returns a function like latestRuns, for a view that must render only when something looks different. It
 * returns the same map as before while only the time of the last output changes.
 */
export function calmRuns(): (runs: readonly Run[]) => Map<string, Run> {
  let last = new Map<string, Run>();
  return (runs) => {
    const next = latestRuns(runs);
    let same = next.size === last.size;
    for (const [id, run] of next) {
      const known = last.get(id);
      if (known && alike(known, run)) next.set(id, known);
      else same = false;
    }
    if (!same) last = next;
    return last;
  };
}

/** needsYou returns the work items that have a run which waits for a person. */
export function needsYou(runs: ReadonlyMap<string, Run> | undefined): Set<string> {
  const found = new Set<string>();
  for (const [id, run] of runs ?? []) if (weight(run) === 2) found.add(id);
  return found;
}
