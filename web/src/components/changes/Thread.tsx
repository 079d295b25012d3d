import { useState } from 'react';
import { messageOf } from '@/api/error';
import type { Comment } from '@/api/schema.gen';
import { messageReasons, messageStates } from '@/components/messageText';
import { useCommentActions } from '@/data/changes';
import { Badge, type Tone } from '@/ui/Badge';
import { Button } from '@/ui/Button';
import { RelativeTime } from '@/ui/RelativeTime';
import { toast } from '@/ui/toast';
import { CommentForm } from './CommentForm';

const states: Record<Comment['state'], { word: string; tone: Tone }> = {
  draft: { word: 'Draft, not sent', tone: 'warn' },
  sent: { word: 'Sent', tone: 'info' },
  handled: { word: 'Handled', tone: 'ok' },
  resolved: { word: 'Resolved', tone: 'neutral' },
};

/** Thread shows the comments at one line or file. */
export function Thread({ comments, quoted }: { comments: Comment[]; quoted?: boolean }) {
  return (
    <ul aria-label="Comments" className="flex flex-col gap-2 p-2 font-sans">
      {comments.map((comment) => (
        <li key={comment.id} className="rounded-lg bg-panel px-3 py-2 shadow-1 ring-1 ring-line">
          <One comment={comment} quoted={quoted} />
        </li>
      ))}
    </ul>
  );
}

function One({ comment, quoted }: { comment: Comment; quoted?: boolean }) {
  const [editing, setEditing] = useState(false);
  const { change, remove } = useCommentActions(comment.workspace_id);
  const { word, tone } = states[comment.state];
  const onError = (error: unknown): void => toast.error(messageOf(error));
  const move = (state: 'draft' | 'resolved'): void =>
    change.mutate({ comment: comment.id, patch: { state } }, { onError });
  const busy = change.isPending || remove.isPending;
  return (
    <>
      <div className="flex flex-wrap items-center gap-x-2 gap-y-1 text-xs">
        <span className="font-medium">{comment.author}</span>
        <Badge tone={tone}>{word}</Badge>
        <RelativeTime at={comment.created_at} className="text-ink-3" />
        <span className="ml-auto flex gap-1">
          {comment.state === 'draft' && !editing && (
            <Button size="sm" variant="ghost" disabled={busy} onClick={() => setEditing(true)}>
              Edit
            </Button>
          )}
          {comment.state === 'draft' && (
            <Button
              size="sm"
              variant="ghost"
              disabled={busy}
              onClick={() => remove.mutate(comment.id, { onError })}
            >
              Delete
            </Button>
          )}
          {comment.state === 'resolved' ? (
            <Button size="sm" variant="ghost" disabled={busy} onClick={() => move('draft')}>
              Open again
            </Button>
          ) : (
            comment.state !== 'draft' && (
              <Button size="sm" variant="ghost" disabled={busy} onClick={() => move('resolved')}>
                Resolve
              </Button>
            )
          )}
        </span>
      </div>
      {quoted && (
        <p className="mt-1 text-xs text-ink-2">
          {comment.path}
          {comment.line !== null && `, line ${comment.line} of checkpoint ${comment.checkpoint}`}
        </p>
      )}
      {quoted && comment.quote && (
        <pre className="mt-1 overflow-x-auto border-l-2 border-line-strong pl-2 font-mono text-xs whitespace-pre-wrap break-words text-ink-2">
          {comment.quote}
        </pre>
      )}
      {editing ? (
        <CommentForm
          draftKey={`comment.${comment.id}`}
          label="Change the comment"
          base={comment.body}
          submit="Save"
          onSave={(body) => change.mutateAsync({ comment: comment.id, patch: { body } })}
          onClose={() => setEditing(false)}
        />
      ) : (
        <p className="mt-1 text-sm break-words whitespace-pre-wrap">{comment.body}</p>
      )}
      {comment.delivery_reason && (
        <p className="mt-1 text-xs break-words text-ink-2">
          {messageStates[comment.delivery || 'queued']}: {messageReasons[comment.delivery_reason]}.
          {comment.state === 'draft' && ' It can be sent again.'}
        </p>
      )}
      {comment.note && <p className="mt-1 text-xs break-words text-ink-2">The agent: {comment.note}</p>}
    </>
  );
}
