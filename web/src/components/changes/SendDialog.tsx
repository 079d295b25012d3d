import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { SendHorizontal } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import { messageOf } from '@/api/error';
import { sendPreviewQuery, useSendComments } from '@/data/changes';
import { useDraft } from '@/lib/drafts';
import { randomKey } from '@/lib/id';
import { Button } from '@/ui/Button';
import { Field, Textarea } from '@/ui/Field';
import { Dialog } from '@/ui/Overlay';
import { Skeleton } from '@/ui/States';
import { toast } from '@/ui/toast';

/** SendDialog shows the prompt that the agent will receive, before it is sent. */
export function SendDialog({
  workspaceId,
  drafts,
  onClose,
}: {
  workspaceId: string;
  /** The number of draft comments. */
  drafts: number;
  onClose(): void;
}) {
  const { draft, write, drop } = useDraft(`send.${workspaceId}`);
  const message = draft?.text ?? '';
  // The preview is loaded when the user finishes the message, not with each letter.
  const [finished, setFinished] = useState(message);
  const preview = useQuery(sendPreviewQuery(workspaceId, finished.trim()));
  const send = useSendComments(workspaceId);
  const navigate = useNavigate();
  // One key per opened form: a second click does not send the message twice.
  const [key] = useState(randomKey);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    send.mutate(
      { key, body: message.trim() ? { message: message.trim() } : {} },
      {
        onSuccess: ({ run_id }) => {
          drop();
          onClose();
          toast.success(drafts === 1 ? 'The comment was sent' : `${drafts} comments were sent`, {
            ...(run_id && {
              action: {
                label: 'Watch',
                onClick: () => void navigate({ to: '/runs/$runId', params: { runId: run_id }, search: {} }),
              },
            }),
          });
        },
      },
    );
  };
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title={drafts === 1 ? 'Send 1 comment' : `Send ${drafts} comments`}
      description="The agent of this working copy receives them as one message and continues with it."
    >
      <form onSubmit={submit} className="flex flex-col gap-4">
        <Field label="Message before the comments" optional>
          {(ids) => (
            <Textarea
              {...ids}
              value={message}
              onChange={(event) => write(event.target.value, '')}
              onBlur={() => setFinished(message)}
            />
          )}
        </Field>
        <section aria-label="What the agent gets" className="flex flex-col gap-1.5">
          <h3 className="text-xs font-medium text-ink-2">What the agent gets</h3>
          {preview.data ? (
            <pre
              // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it
              tabIndex={0}
              className="max-h-72 overflow-auto rounded-lg bg-sunken p-3 font-mono text-xs whitespace-pre-wrap break-words ring-1 ring-line ring-inset"
            >
              {preview.data.prompt}
            </pre>
          ) : preview.error ? (
            <p role="alert" className="text-sm text-bad">
              {messageOf(preview.error)}
            </p>
          ) : (
            <Skeleton className="h-24" />
          )}
        </section>
        {send.error && (
          <p role="alert" className="text-sm text-bad">
            {messageOf(send.error)} Nothing was sent; the drafts stay.
          </p>
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Not yet</Button>
          <Button
            type="submit"
            variant="primary"
            busy={send.isPending}
            icon={<SendHorizontal className="size-3.5" />}
          >
            Send
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
