import { SendHorizontal } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import { messageOf } from '@/api/error';
import type { RunDetail } from '@/api/schema.gen';
import { answerKeys } from '@/components/answerKeys';
import { useSendKeys } from '@/data/actions';
import type { Attachment } from '@/terminal/attach';
import { maySend } from '@/terminal/lease';
import { Button, IconButton } from '@/ui/Button';
import { Input } from '@/ui/Field';
import { toast } from '@/ui/toast';

const attachedKeys: [string, string][] = [
  ['Esc', '\x1b'],
  ['Tab', '\t'],
  ['↑', '\x1b[A'],
  ['↓', '\x1b[B'],
  ['←', '\x1b[D'],
  ['→', '\x1b[C'],
  ['Ctrl+C', '\x03'],
  ['Enter', '\r'],
];

/**
 * KeyBar types without a keyboard: a line of text, and the keys that phones do not have. ready: the field gets the focus
 * when this client attaches.
 */
export function KeyBar({
  run,
  attachment,
  ready,
}: {
  run: RunDetail;
  attachment: Attachment | null;
  ready: boolean;
}) {
  return attachment ? <AttachedKeys attachment={attachment} ready={ready} /> : <PlainKeys run={run} />;
}

function AttachedKeys({ attachment, ready }: { attachment: Attachment; ready: boolean }) {
  const lease = attachment.store((state) => state.lease);
  const [text, setText] = useState('');
  const may = maySend(lease);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    attachment.type(`${text}\r`);
    setText('');
  };
  return (
    <div className="flex flex-col gap-1.5 border-t bg-panel p-2">
      <form onSubmit={submit} className="flex gap-1.5">
        <Input
          aria-label="Text for the agent"
          autoFocus={ready}
          value={text}
          onChange={(event) => setText(event.target.value)}
          disabled={!may}
          placeholder={may ? 'Type, then send with Enter' : 'Someone else is typing'}
          className="h-10 font-mono"
        />
        <IconButton label="Send" type="submit" size="lg" variant="primary" disabled={!may}>
          <SendHorizontal className="size-4" />
        </IconButton>
      </form>
      <div className="flex gap-1 overflow-x-auto">
        {attachedKeys.map(([name, data]) => (
          <Button
            key={name}
            className="h-9 min-w-10 flex-1"
            disabled={!may}
            onClick={() => attachment.type(data)}
          >
            {name}
          </Button>
        ))}
      </div>
    </div>
  );
}

function PlainKeys({ run }: { run: RunDetail }) {
  const send = useSendKeys();
  return (
    <div className="flex gap-1 overflow-x-auto border-t bg-panel p-2">
      {[...answerKeys, { key: 'Ctrl+C', label: 'Ctrl+C' }].map(({ key, label }) => (
        <Button
          key={key}
          className="h-9 min-w-9 flex-1"
          disabled={send.isPending}
          onClick={() =>
            send.mutate({ id: run.id, keys: [key] }, { onError: (error) => toast.error(messageOf(error)) })
          }
        >
          {label}
        </Button>
      ))}
    </div>
  );
}
