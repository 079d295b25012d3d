import { SendHorizontal } from 'lucide-react';
import type { FormEvent } from 'react';
import { messageOf } from '@/api/error';
import { answerKeys } from '@/components/answerKeys';
import { useSendKeys } from '@/data/actions';
import { useDraft } from '@/lib/drafts';
import { Button } from '@/ui/Button';
import { Input } from '@/ui/Field';
import { toast } from '@/ui/toast';

/**
 * Answer types into the session of an agent that waits for an answer: a line followed by Enter, or one of the usual keys.
 * If the server refuses a line, the line stays in the field.
 */
export function Answer({ runId, about }: { runId: string; about: string }) {
  const { draft, write, drop } = useDraft(`answer.${runId}`);
  const text = draft?.text ?? '';
  const send = useSendKeys();
  const type = (keys: string[], after?: () => void): void =>
    send.mutate(
      { id: runId, keys },
      {
        onSuccess: () => {
          after?.();
          toast.success(`Answered “${about}”`);
        },
        onError: (error) => toast.error(messageOf(error)),
      },
    );
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    type(text === '' ? ['Enter'] : [text, 'Enter'], drop);
  };
  return (
    <div className="flex min-w-0 grow flex-wrap items-center gap-1.5">
      <form onSubmit={submit} className="flex min-w-0 grow items-center gap-1.5 sm:max-w-md">
        <Input
          aria-label={`Answer to ${about}`}
          placeholder="Answer, then Enter"
          value={text}
          onChange={(event) => write(event.target.value, '')}
          onKeyDown={(event) => {
            // The text is kept. Without the focus in the field, the page's shortcuts work again.
            if (event.key === 'Escape') event.currentTarget.blur();
          }}
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
      <fieldset aria-label={`Keys for ${about}`} className="flex flex-wrap gap-1">
        {answerKeys.map(({ key, label }) => (
          <Button
            key={key}
            size="sm"
            className="min-w-8 font-mono"
            disabled={send.isPending}
            onClick={() => type([key])}
          >
            {label}
          </Button>
        ))}
      </fieldset>
    </div>
  );
}
