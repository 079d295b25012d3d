import type { Run } from '@/api/records';
import type { Workspace } from '@/api/schema.gen';
import { ago, span } from '@/lib/time';

/** Words is one statement about a working copy. The tone adds no information. */
export interface Words {
  text: string;
  tone?: 'ok' | 'warn' | 'bad';
}

/** The first part of a working copy's error, and its meaning. */
const causes: Record<string, string> = {
  base_unavailable: 'its base could not be fetched',
  setup_failed: 'its setup failed',
};

const short = (commit: string): string => commit.slice(0, 7);
const since = (at: string, now: number): string => ago(at, now).replace(/^now$/, 'just now');

/** workspaceWords describes the state of a run's working copy, the most important statement first. */
export function workspaceWords(
  copy: Workspace,
  run: Pick<Run, 'started_at'>,
  now: number,
): [Words, ...Words[]] {
  const words = [state(copy), base(copy, run, now), ...end(copy, now), changes(copy), kept(copy, now)].filter(
    (each) => each !== null,
  );
  const [first, ...rest] = words;
  return first ? [first, ...rest] : [{ text: 'nothing is known of it yet' }];
}

function state({ state, error }: Workspace): Words | null {
  switch (state) {
    case 'preparing':
      return { text: 'being prepared' };
    case 'failed':
      return { text: failure(error), tone: 'bad' };
    case 'missing':
      return { text: 'its folder is gone from its host; its checkpoints remain', tone: 'warn' };
    case 'removed':
      return { text: 'removed from its host' };
    default:
      return null;
  }
}

function failure(error: string): string {
  const [code = '', ...rest] = error.split(': ');
  const cause = causes[code];
  return cause ? [cause, ...rest].join(': ') : `could not be prepared${error && `: ${error}`}`;
}

function base(copy: Workspace, run: Pick<Run, 'started_at'>, now: number): Words | null {
  if (!copy.base_commit) return null;
  const of = copy.base_ref ? ` of ${copy.base_ref}` : '';
  const restored = copy.restored_from ? ', with the work of an earlier copy' : '';
  return { text: `base ${short(copy.base_commit)}${of}${fetched(copy, run, now)}${restored}` };
}

function fetched({ base_fetched_at: at }: Workspace, run: Pick<Run, 'started_at'>, now: number): string {
  if (!at) return '';
  if (!run.started_at) return `, fetched ${since(at, now)}`;
  const lead = Date.parse(run.started_at) - Date.parse(at);
  if (Math.abs(lead) < 1000) return ', fetched at its start';
  return `, fetched ${span(Math.abs(lead))} ${lead < 0 ? 'after' : 'before'} start`;
}

/** end describes what happened to the work: whether it was landed or discarded. */
function end(copy: Workspace, now: number): Words[] {
  const words: Words[] = [];
  if (copy.landed_commit) {
    const newer = copy.checkpoint > copy.landed_checkpoint ? '; newer work has not landed' : '';
    const text = `landed into ${copy.landed_into} as ${short(copy.landed_commit)}${newer}`;
    words.push({ text, tone: newer ? 'warn' : 'ok' });
  }
  if (copy.discarded_at) words.push({ text: `discarded ${since(copy.discarded_at, now)}`, tone: 'warn' });
  return words;
}

function changes({ relayed_checkpoint, files, additions, deletions }: Workspace): Words | null {
  if (relayed_checkpoint === 0) return null;
  if (files === 0) return { text: 'nothing changed' };
  return { text: `+${additions} −${deletions} in ${files} ${files === 1 ? 'file' : 'files'}` };
}

function kept(copy: Workspace, now: number): Words | null {
  if (copy.error.startsWith('on_host_only'))
    return { text: 'the newest state is too large to be sent and is on its host only', tone: 'warn' };
  if (copy.checkpoint > copy.relayed_checkpoint)
    return { text: 'the newest state is on its host only, and on its way', tone: 'warn' };
  if (copy.relayed_checkpoint > 0)
    return { text: copy.observed_at ? `kept ${since(copy.observed_at, now)}` : 'kept' };
  return copy.state === 'ready' || copy.state === 'busy' ? { text: 'nothing kept yet' } : null;
}
