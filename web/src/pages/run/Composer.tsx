import { useQuery } from '@tanstack/react-query';
import { SendHorizontal } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import { messageOf } from '@/api/error';
import type { Host } from '@/api/records';
import type { Message, RunDetail } from '@/api/schema.gen';
import { messageReasons, messageStates } from '@/components/messageText';
import { useSendMessage } from '@/data/actions';
import { messagesQuery } from '@/data/queries';
import { useDraft } from '@/lib/drafts';
import { randomKey } from '@/lib/id';
import { Button } from '@/ui/Button';
import { cx } from '@/ui/cx';
import { Textarea } from '@/ui/Field';
import { RelativeTime } from '@/ui/RelativeTime';
import { Segmented } from '@/ui/Segmented';

type When = Message['when'];

const whens: { value: When; label: string }[] = [
  { value: 'now', label: 'Now' },
  { value: 'turn_end', label: 'When its turn ends' },
];
/** How many messages are shown: the newest ones. */
const shown = 4;

/** takesMessages reports whether a message can be sent to a run's agent while it works. */
export const takesMessages = (run: RunDetail, host: Host | undefined): boolean =>
  run.status === 'running' && host?.providers[run.provider]?.message === 'paste';

/** willHappen describes what happens to a message that is sent now, and whether it may be sent. */
export function willHappen(run: RunDetail, when: When, queued: number): { words: string; may: boolean } {
  if (run.lease)
    return {
      may: false,
      words: `${run.lease.holder || 'Someone'} types into the session now. A message can be sent when the keyboard is released.`,
    };
  const after =
    queued === 0 ? '' : queued === 1 ? ', after the one that waits' : `, after the ${queued} that wait`;
  if (run.needs_input)
    return { may: true, words: `The agent asks something: this is typed as the answer${after}.` };
  return {
    may: true,
    words:
      when === 'turn_end'
        ? `It is given to the agent when its turn ends${after}.`
        : `It is pasted into the session now and submitted${after}.`,
  };
}

/** Composer sends messages to the agent without the terminal. It shows what will happen, and then the result. */
export function Composer({ run, host }: { run: RunDetail; host?: Host }) {
  const { draft, write, drop } = useDraft(`message.${run.id}`);
  const { data: messages = [] } = useQuery(messagesQuery(run.id));
  const turns = host?.providers[run.provider]?.turns === true;
  const [chosen, setWhen] = useState<When>('now');
  const when = turns && !run.needs_input ? chosen : 'now';
  const [key, setKey] = useState(randomKey);
  const send = useSendMessage();
  const text = draft?.text ?? '';
  const { words, may } = willHappen(run, when, messages.filter(({ state }) => state === 'queued').length);
  const submit = (event?: FormEvent): void => {
    event?.preventDefault();
    if (text.trim() === '' || !may || send.isPending) return;
    send.mutate(
      { id: run.id, key, body: { text, when, ...(run.needs_input && { answer: true }) } },
      { onSuccess: drop, onSettled: () => setKey(randomKey()) },
    );
  };
  return (
    <section aria-label="Message to the agent" className="flex flex-col gap-2 border-t bg-panel p-2 sm:px-4">
      {messages.length > 0 && (
        <ol aria-label="Messages" className="flex max-h-28 flex-col gap-1 overflow-y-auto text-xs">
          {messages.slice(-shown).map((message) => (
            <Sent key={message.id} message={message} />
          ))}
        </ol>
      )}
      <form onSubmit={submit} className="flex items-end gap-2">
        <Textarea
          aria-label="Message"
          rows={1}
          value={text}
          onChange={(event) => write(event.target.value, '')}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit();
          }}
          placeholder={run.needs_input ? 'Answer the agent' : 'Write to the agent'}
          className="max-h-40! min-h-8!"
        />
        <Button
          type="submit"
          variant="primary"
          busy={send.isPending}
          disabled={!may || text.trim() === ''}
          icon={<SendHorizontal className="size-3.5" />}
        >
          Send
        </Button>
      </form>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1 text-xs text-ink-2">
        {turns && !run.needs_input && may && (
          <Segmented<When> label="When" value={when} onChange={setWhen} options={whens} />
        )}
        <span>{words}</span>
      </div>
      {send.error && (
        <p role="alert" className="text-xs text-bad">
          {messageOf(send.error)} Your text is kept here.
        </p>
      )}
    </section>
  );
}

function Sent({ message: { text, by, state, reason, created_at } }: { message: Message }) {
  const trouble = state === 'undelivered' || state === 'unconfirmed';
  return (
    <li className="flex flex-wrap items-baseline gap-x-2">
      <span className="min-w-0 flex-1 basis-40 truncate">
        <span className="text-ink-3">{by}:</span> {text}
      </span>
      <span className={cx('shrink-0', trouble ? 'text-warn' : 'text-ink-2')}>
        {messageStates[state]}
        {reason && `: ${messageReasons[reason]}`}
      </span>
      <RelativeTime at={created_at} className="shrink-0 text-ink-3" />
    </li>
  );
}
