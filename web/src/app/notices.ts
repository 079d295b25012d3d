import type { Run } from '@/api/records';
import { failure } from '@/components/runState';

/** Notice is what a person is told who looks elsewhere. */
export interface Notice {
  runId: string;
  title: string;
  body: string;
}

/** stateOf is what matters of a run for someone who is away. */
const stateOf = (run: Run): string =>
  run.needs_input ? 'needs you' : run.status === 'failed' ? 'failed' : 'other';

/** statesOf remembers how runs stand, to find out later what is new. */
export const statesOf = (runs: readonly Run[]): Map<string, string> =>
  new Map(runs.map((run) => [run.id, `${run.attempt} ${stateOf(run)}`]));

/** noticesOf tells which runs came to need someone, or failed, since their states were remembered. */
export function noticesOf(before: ReadonlyMap<string, string>, runs: readonly Run[]): Notice[] {
  return runs
    .filter((run) => stateOf(run) !== 'other' && before.get(run.id) !== `${run.attempt} ${stateOf(run)}`)
    .map((run) =>
      run.needs_input
        ? {
            runId: run.id,
            title: `${run.task_title} needs you`,
            body: run.progress_message ?? run.session_name,
          }
        : { runId: run.id, title: `${run.task_title} failed`, body: failure(run) },
    );
}
