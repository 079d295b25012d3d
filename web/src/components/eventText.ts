import type { Event } from '@/api/records';
import type { Tone } from '@/ui/Badge';

const someone = 'someone';

/** EventText describes an event of the journal in words. */
export interface EventText {
  title: string;
  /** Details after the title: a message, an error, a reason. */
  detail?: string;
  tone: Tone;
  icon:
    | 'plus'
    | 'pen'
    | 'move'
    | 'trash'
    | 'clock'
    | 'play'
    | 'check'
    | 'cross'
    | 'square'
    | 'hand'
    | 'message'
    | 'keyboard'
    | 'server'
    | 'warn'
    | 'repeat';
  /** Who caused the event: the name of a token, or a part of svc. */
  source: string;
}

const sources: Record<string, string> = {
  wrapper: 'the wrapper',
  'provider-hook': 'the agent’s hook',
  manual: someone,
};
const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

/** eventText describes an event. For an unknown topic, the title is the topic's name. */
export function eventText({ topic, payload }: Pick<Event, 'topic' | 'payload'>): EventText {
  // The name of the person who caused it, if the event has one. A manual move without a name is still shown as manual.
  const source =
    text(payload.by) ??
    sources[String(payload.source ?? (topic.startsWith('work_item.') ? payload.status_source : ''))] ??
    'the orchestrator';
  const say = (
    title: string,
    icon: EventText['icon'],
    tone: Tone = 'neutral',
    detail?: string,
  ): EventText => ({ title, icon, tone, detail, source });
  const host = text(payload.host_name) ?? text(payload.name) ?? 'A host';
  switch (topic) {
    case 'run.created':
      return {
        ...say('Run queued', 'plus', 'neutral', text(payload.provider)),
        source: text(payload.by) ?? someone,
      };
    case 'run.spawning':
      return say(`Given to ${text(payload.host_name) ?? 'a host'}`, 'clock', 'info');
    case 'run.started':
      return say('Session started', 'play', 'info', text(payload.session_name));
    case 'run.finished':
      return finished(payload, say);
    case 'run.failed':
      return say('Run failed', 'cross', 'bad', text(payload.error) ?? failureWords(payload.failure_reason));
    case 'run.stopped':
      return say('Run stopped', 'square');
    case 'run.requeued':
      return say(`Queued again, attempt ${payload.attempt}`, 'repeat', 'info', text(payload.reason));
    case 'run.signal_received':
      return signal(payload, say);
    case 'run.output_appended':
      return say(`${payload.line_count} lines of output`, 'message');
    case 'run.lease_acquired':
      return { ...say('Someone attached', 'keyboard'), source: text(payload.by) ?? someone };
    case 'run.lease_released':
      return { ...say('Keyboard released', 'keyboard'), source: text(payload.by) ?? someone };
    case 'run.orphan_detected':
      return say(
        'Leftover session found',
        'warn',
        'warn',
        payload.action === 'stopped' ? 'It was ended.' : 'It was not ended.',
      );
    case 'run.message':
      return say(
        `Message ${payload.state}`,
        'message',
        payload.state === 'unconfirmed' || payload.state === 'undelivered' ? 'warn' : 'info',
        text(payload.reason)?.replaceAll('_', ' '),
      );
    case 'run.session_ended':
      return payload.reason === 'host_lost'
        ? say('Session counted as ended', 'warn', 'warn', 'Its host was deleted.')
        : say('Session ended', 'square', 'info', text(payload.reason));
    case 'worker.registered':
      return say(`${host} is online`, 'server', 'ok');
    case 'worker.offline':
      return say(`${host} is offline`, 'server', 'bad');
    case 'worker.disconnected':
      return say(`${host} is not connected`, 'server', 'warn', text(payload.reason) || undefined);
    case 'worker.connected':
      return say(`${host} is connected again`, 'server', 'ok');
    case 'worker.instance_suspect':
      return say(`${host} is suspect`, 'warn', 'warn', 'A second worker says that it is this host.');
    case 'worker.instance_reinstalled':
      return say(`${host} has a new identity`, 'server', 'info');
    case 'worker.providers_changed':
      return say(`${host} looked for its providers`, 'server');
    case 'host.created':
      return say(`${host} was added`, 'plus');
    case 'host.updated':
      return say(
        `${host} was changed`,
        'pen',
        'neutral',
        payload.status === 'disabled' ? 'disabled' : undefined,
      );
    case 'host.deleted':
      return say(`${host} was deleted`, 'trash');
    case 'project.created':
      return say('Project created', 'plus', 'neutral', text(payload.name));
    case 'project.updated':
      return say('Project changed', 'pen', 'neutral', text(payload.name));
    case 'project.archived':
      return say('Project archived', 'trash', 'neutral', text(payload.name));
    case 'work_item.created':
      return say('Work item created', 'plus');
    case 'work_item.updated':
      return say('Work item changed', 'pen');
    case 'work_item.status_changed':
      return say(`Moved to ${String(payload.status)}`, 'move', payload.status === 'done' ? 'ok' : 'neutral');
    case 'work_item.reparented':
      return say('Moved in the tree', 'move');
    case 'work_item.needs_changed':
      return say(
        Array.isArray(payload.needs) && payload.needs.length > 0 ? 'Needs changed' : 'Needs nothing any more',
        'pen',
      );
    case 'work_item.unblocked':
      return say('Unblocked: all it needs is done', 'check', 'ok');
    case 'run.updated':
      return say('Its queue settings were changed', 'pen', 'neutral', `priority ${String(payload.priority)}`);
    case 'workspace.created':
      return say('Working copy requested', 'plus');
    case 'workspace.ready':
      return say('Working copy ready', 'check', 'info', text(payload.branch));
    case 'workspace.failed':
      return say('No working copy could be made', 'cross', 'bad', text(payload.error));
    case 'workspace.checkpointed':
      return say(`Checkpoint ${String(payload.checkpoint)}`, 'clock', 'info');
    case 'workspace.land_requested':
      return say('Landing requested', 'move', 'info', text(payload.into));
    case 'workspace.landed':
      return say(
        `Landed${text(payload.into) ? ` into ${text(payload.into)}` : ''}`,
        'check',
        'ok',
        text(payload.commit)?.slice(0, 12),
      );
    case 'workspace.land_failed':
      return say('Not landed', 'cross', 'bad', text(payload.error) ?? text(payload.reason));
    case 'workspace.discarded':
      return say('Working copy discarded', 'trash');
    case 'workspace.removed':
      return say('Working copy removed', 'trash');
    case 'comment.created':
      return say('Comment on a change', 'message', 'neutral', text(payload.path));
    case 'comment.updated':
      return say(`Comment: ${String(payload.state)}`, 'message', 'neutral', text(payload.path));
    case 'comment.deleted':
      return say('Comment deleted', 'trash', 'neutral', text(payload.path));
    case 'work_item.deleted':
      return say('Work item deleted', 'trash');
    default:
      return say(topic, 'message');
  }
}

type Say = (title: string, icon: EventText['icon'], tone?: Tone, detail?: string) => EventText;

function finished(payload: Event['payload'], say: Say): EventText {
  if (payload.status === 'stopped') return say('Session ended after the stop', 'square');
  if (payload.exit_code === 0) return say('Run finished', 'check', 'ok', 'exit code 0');
  const why =
    text(payload.reason) === 'session_lost' ? 'its session vanished' : `exit code ${payload.exit_code}`;
  return say('Run failed', 'cross', 'bad', why);
}

function signal(payload: Event['payload'], say: Say): EventText {
  switch (payload.kind) {
    case 'progress':
      return payload.needs_input === true
        ? say('The agent needs you', 'hand', 'warn', text(payload.message))
        : say(
            text(payload.message) ?? 'Progress',
            'message',
            'neutral',
            typeof payload.percent === 'number' ? `${Math.min(100, payload.percent)} %` : undefined,
          );
    case 'completed':
      return completed(payload, say);
    case 'input':
      return say('Someone answered', 'keyboard', 'ok');
    default:
      return say(`Signal: ${String(payload.kind)}`, 'message');
  }
}

function completed(payload: Event['payload'], say: Say): EventText {
  const reason = text(payload.reason);
  if (payload.result === 'partial_success')
    return say('The agent says: done in part', 'check', 'warn', reason);
  if (payload.result === 'user_rejected') return say('The agent says: rejected', 'cross', 'warn', reason);
  return say('The agent says: done', 'check', 'ok', reason);
}

function failureWords(reason: unknown): string | undefined {
  if (reason === 'no_eligible_host') return 'no host that fits came online in time';
  if (reason === 'dispatch_timeout') return 'no host took it in time';
  if (reason === 'host_lost') return 'its host went away';
  return text(reason);
}
