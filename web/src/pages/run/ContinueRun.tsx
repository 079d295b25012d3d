import { useNavigate } from '@tanstack/react-router';
import { SendHorizontal } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import { messageOf } from '@/api/error';
import { type Host, isActive } from '@/api/records';
import type { RunDetail } from '@/api/schema.gen';
import { useStartRun } from '@/data/actions';
import { useMay } from '@/data/role';
import { useDraft } from '@/lib/drafts';
import { randomKey } from '@/lib/id';
import { Button } from '@/ui/Button';
import { Textarea } from '@/ui/Field';

/** Continuation is how a message to an ended run reaches an agent. */
export interface Continuation {
  /** Whether it starts a new conversation, because the old one cannot be continued. */
  fresh: boolean;
  words: string;
}

/**
 * continuationOf describes what happens to a message to an ended run. Null: neither its conversation nor its working copy
 * can be continued.
 */
export function continuationOf(run: RunDetail, host: Host | undefined): Continuation | null {
  if (isActive(run)) return null;
  const where = host ? ` on ${host.name}` : '';
  const copy = run.workspace_id ? ', in the same working copy' : '';
  if (run.conversation && host?.providers[run.provider]?.resumes)
    return { fresh: false, words: `A new run continues this conversation${where}${copy}.` };
  if (!run.workspace_id) return null;
  return {
    fresh: true,
    words: `${run.provider} cannot continue this conversation: a new run starts another one${where}, in the same working copy.`,
  };
}

/** ContinueRun takes a message to an ended run. The message becomes the prompt of a run that continues it. */
export function ContinueRun({ run, how }: { run: RunDetail; how: Continuation }) {
  // The draft is shared with Composer, so that text written while the run was active is not lost when it ends.
  const { draft, write, drop } = useDraft(`message.${run.id}`);
  const [key] = useState(randomKey);
  const start = useStartRun();
  const may = useMay('operator');
  const navigate = useNavigate();
  const text = draft?.text ?? '';
  if (may === false) return null;
  const submit = (event?: FormEvent): void => {
    event?.preventDefault();
    if (text.trim() === '' || start.isPending) return;
    start.mutate(
      { key, body: { continues: run.id, prompt: text, wait: true, ...(how.fresh && { fresh: true }) } },
      {
        onSuccess: ({ id }) => {
          drop();
          void navigate({ to: '/runs/$runId', params: { runId: id }, search: {} });
        },
      },
    );
  };
  return (
    <section aria-label="Continue this run" className="flex flex-col gap-2 border-t bg-panel p-2 sm:px-4">
      <form onSubmit={submit} className="flex items-end gap-2">
        <Textarea
          aria-label="Message"
          rows={1}
          value={text}
          onChange={(event) => write(event.target.value, '')}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit();
          }}
          placeholder="Write what comes next"
          className="max-h-40! min-h-8!"
        />
        <Button
          type="submit"
          variant="primary"
          busy={start.isPending}
          disabled={text.trim() === ''}
          icon={<SendHorizontal className="size-3.5" />}
        >
          Continue
        </Button>
      </form>
      <p className="text-xs text-ink-2">{how.words}</p>
      {start.error && (
        <p role="alert" className="text-xs text-bad">
          {messageOf(start.error)} Your text is kept here.
        </p>
      )}
    </section>
  );
}
