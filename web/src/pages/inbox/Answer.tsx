import { SendHorizontal } from 'lucide-react';
import type { FormEvent } from 'react';
import { messageOf } from '@/api/error';
import { useSendKeys } from '@/data/actions';
import { useDraft } from '@/lib/drafts';
import { Button } from '@/ui/Button';
import { Input } from '@/ui/Field';
import { toast } from '@/ui/toast';

/** Answer types a line into the session of an agent that asks, with Enter behind it. A refused line stays in the field. */
export function Answer({ runId, about }: { runId: string; about: string }) {
  const { draft, write, drop } = useDraft(`answer.${runId}`);
  const text = draft?.text ?? '';
  const send = useSendKeys();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    send.mutate(
      { id: runId, keys: text === '' ? ['Enter'] : [text, 'Enter'] },
      {
        onSuccess: () => {
          drop();
          toast.success(`Answered “${about}”`);
        },
        onError: (error) => toast.error(messageOf(error)),
      },
    );
  };
  return (
    <form onSubmit={submit} className="flex min-w-0 grow gap-1.5 sm:max-w-md">
      <Input
        aria-label={`Answer to ${about}`}
        placeholder="Answer, then Enter"
        value={text}
        onChange={(event) => write(event.target.value, '')}
        className="h-7 min-w-0 grow font-mono text-xs"
      />
      <Button
        type="submit"
        size="sm"
        variant="primary"
        busy={send.isPending}
        icon={<SendHorizontal className="size-3.5" />}
      >
        Send
      </Button>
    </form>
  );
}
