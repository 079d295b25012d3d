import { useQuery } from '@tanstack/react-query';
import { ChevronRight, MessageSquarePlus } from 'lucide-react';
import { memo, useMemo, useState } from 'react';
import { messageOf } from '@/api/error';
import type { ChangedFile, Comment } from '@/api/schema.gen';
import { Counts } from '@/components/Counts';
import { diffQuery, useCommentActions, type Version } from '@/data/changes';
import { randomKey } from '@/lib/id';
import { placeOf, rowsOf } from '@/lib/patch';
import { Badge } from '@/ui/Badge';
import { IconButton } from '@/ui/Button';
import { cx } from '@/ui/cx';
import { ErrorState, Loading, Skeleton } from '@/ui/States';
import { CommentForm } from './CommentForm';
import { atOnce, DiffTable, lineHeight } from './DiffTable';
import { reviewedOf, useReviewed } from './reviewed';
import { Thread } from './Thread';
import { threadsOf } from './threads';

const words: Record<ChangedFile['status'], string> = {
  added: 'new',
  modified: '',
  deleted: 'deleted',
  renamed: 'renamed',
  type_changed: 'another kind of file',
};

/** The height of a file's title, in px. */
const titleHeight = 41;

/** heightOf estimates a file's height before it is rendered. */
export const heightOf = (file: ChangedFile, open: boolean): number =>
  titleHeight + (open ? patchHeight(file) : 0);

const patchHeight = ({ additions, deletions }: ChangedFile): number =>
  Math.min(additions + deletions + 1, atOnce) * lineHeight;

/** FileDiff shows one file of a change. Its patch is loaded when it is opened. */
export const FileDiff = memo(function FileDiff({
  titleId,
  workspaceId,
  file,
  version,
  newest,
  split,
  comments,
  open,
  onToggle,
  drawn,
  onDraw,
}: {
  /** The id of the element to which links to this file jump. */
  titleId: string;
  workspaceId: string;
  file: ChangedFile;
  version: Version;
  newest: number;
  split: boolean;
  comments: Comment[];
  open: boolean;
  onToggle(path: string, open: boolean): void;
  /** How many lines of its patch are rendered. Absent: the initial number. */
  drawn?: number;
  onDraw(path: string, lines: number): void;
}) {
  const toggle = (): void => onToggle(file.path, !open);
  const [onFile, setOnFile] = useState(false);
  const { mark, set } = useReviewed(workspaceId, file.path);
  // A comparison with an earlier checkpoint shows only part of a file, so the file cannot be marked as reviewed there.
  const whole = version.since === 0 && !file.binary && !file.too_large;
  const { data: patch } = useQuery({
    ...diffQuery(workspaceId, version, file.path),
    enabled: whole && (open || mark !== undefined),
  });
  const reviewed = reviewedOf(mark, patch);
  const { add } = useCommentActions(workspaceId);
  const drafts = comments.filter((comment) => comment.state === 'draft').length;
  const comment = (place: { side?: 'old' | 'new'; line?: number }) => (body: string) =>
    add.mutateAsync({
      key: randomKey(),
      body: { path: file.path, checkpoint: version.checkpoint, body, ...place },
    });
  return (
    <section aria-label={file.path} className="shrink-0 rounded-lg bg-panel ring-1 ring-line">
      <header className="sticky top-0 z-10 flex flex-wrap items-center gap-x-2 gap-y-1 rounded-t-lg border-b bg-panel px-2 py-1.5">
        <button
          type="button"
          id={titleId}
          aria-expanded={open}
          onClick={toggle}
          className="flex min-w-0 flex-1 basis-40 items-center gap-2 text-left text-sm"
        >
          <ChevronRight
            aria-hidden
            className={cx('size-4 shrink-0 text-ink-3 transition-transform', open && 'rotate-90')}
          />
          <span className="min-w-0 font-mono text-xs break-all">
            {file.old_path && file.old_path !== file.path && (
              <span className="text-ink-2">{file.old_path} → </span>
            )}
            {file.path}
          </span>
          {words[file.status] && <Badge>{words[file.status]}</Badge>}
        </button>
        {whole && patch !== undefined && (
          <label className="flex shrink-0 items-center gap-1.5 text-xs text-ink-2">
            <input
              type="checkbox"
              checked={reviewed === 'yes'}
              onChange={(event) => {
                set(event.target.checked ? patch : null);
                if (event.target.checked === open) toggle();
              }}
              className="accent-accent-fill"
            />
            {reviewed === 'changed' ? 'Changed since you reviewed it' : 'Reviewed'}
          </label>
        )}
        {drafts > 0 && <Badge tone="warn">{drafts === 1 ? '1 draft' : `${drafts} drafts`}</Badge>}
        <Counts additions={file.additions} deletions={file.deletions} />
        <IconButton
          label={`Comment on ${file.path}`}
          size="sm"
          onClick={() => {
            setOnFile(true);
            if (!open) toggle();
          }}
        >
          <MessageSquarePlus className="size-3.5" />
        </IconButton>
      </header>
      {open && (
        <>
          {onFile && (
            <CommentForm
              draftKey={`comment.${workspaceId}.${file.path}`}
              label={`Comment on ${file.path}`}
              submit="Add draft"
              onSave={comment({})}
              onClose={() => setOnFile(false)}
            />
          )}
          <Patch
            workspaceId={workspaceId}
            file={file}
            version={version}
            newest={newest}
            split={split}
            comments={comments}
            comment={comment}
            drawn={drawn}
            onDraw={onDraw}
          />
        </>
      )}
    </section>
  );
});

function Patch({
  workspaceId,
  file,
  version,
  newest,
  split,
  comments,
  comment,
  drawn,
  onDraw,
}: {
  workspaceId: string;
  file: ChangedFile;
  version: Version;
  newest: number;
  split: boolean;
  comments: Comment[];
  comment(place: { side: 'old' | 'new'; line: number }): (body: string) => Promise<unknown>;
  drawn?: number;
  onDraw(path: string, lines: number): void;
}) {
  const hidden = file.binary ? 'It is binary.' : file.too_large ? 'It is too large to be shown here.' : null;
  const query = useQuery({ ...diffQuery(workspaceId, version, file.path), enabled: hidden === null });
  const rows = useMemo(() => rowsOf(query.data ?? ''), [query.data]);
  const { byRow, loose } = useMemo(
    () => threadsOf(rows, comments, version, newest),
    [rows, comments, version, newest],
  );
  return (
    <div className="overflow-x-auto">
      {loose.length > 0 && <Thread comments={loose} quoted />}
      {hidden !== null ? (
        <p className="px-4 py-3 text-sm text-ink-2">{hidden}</p>
      ) : query.error ? (
        <ErrorState
          title="The patch could not be read"
          message={messageOf(query.error)}
          retry={() => void query.refetch()}
        />
      ) : query.data === undefined ? (
        // The estimated height of the patch, so that the content below does not move when it arrives.
        <div style={{ height: patchHeight(file) }}>
          <Loading label={`Loading ${file.path}`} className="p-3">
            <Skeleton className="h-16" />
          </Loading>
        </div>
      ) : rows.length === 0 ? (
        <p className="px-4 py-3 text-sm text-ink-2">
          No line differs{file.old_mode && file.mode && `; its mode was ${file.old_mode} and is ${file.mode}`}
          .
        </p>
      ) : (
        <DiffTable
          path={file.path}
          rows={rows}
          split={split}
          threads={byRow}
          drawn={drawn}
          onDraw={(lines) => onDraw(file.path, lines)}
          form={(row, close) => {
            const place = placeOf(row);
            return (
              place && (
                <CommentForm
                  draftKey={`comment.${workspaceId}.${file.path}.${place.side}.${place.line}`}
                  label={`Comment on line ${place.line}`}
                  submit="Add draft"
                  onSave={comment(place)}
                  onClose={close}
                />
              )
            );
          }}
        />
      )}
    </div>
  );
}
