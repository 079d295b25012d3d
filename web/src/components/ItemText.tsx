import { Pencil } from 'lucide-react';
import { useRef, useState } from 'react';
import { messageOf } from '@/api/error';
import type { WorkItem } from '@/api/records';
import { TextConflict, useSaveDescription, useUpdateItem } from '@/data/actions';
import { useDraft } from '@/lib/drafts';
import { Button } from '@/ui/Button';
import { Textarea } from '@/ui/Field';
import { Kbd } from '@/ui/Kbd';
import { RelativeTime } from '@/ui/RelativeTime';
import { toast } from '@/ui/toast';
import { Markdown } from './Markdown';

/** ItemTitle edits the title in place: Enter saves, Esc discards the edit. */
export function ItemTitle({ item }: { item: WorkItem }) {
  const [draft, setDraft] = useState<string | null>(null);
  const cancelled = useRef(false);
  const update = useUpdateItem();
  const keep = (): void => {
    const title = draft?.trim();
    setDraft(null);
    if (cancelled.current || !title || title === item.title) return;
    update.mutate({ id: item.id, patch: { title } }, { onError: (error) => toast.error(messageOf(error)) });
  };
  return (
    <h1 className="text-xl font-semibold tracking-tight text-balance">
      <textarea
        aria-label="Title"
        rows={1}
        maxLength={500}
        value={draft ?? item.title}
        onFocus={() => {
          cancelled.current = false;
          setDraft(item.title);
        }}
        onChange={(event) => setDraft(event.target.value.replaceAll('\n', ' '))}
        onBlur={keep}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' && event.key !== 'Escape') return;
          event.preventDefault();
          event.stopPropagation();
          cancelled.current = event.key === 'Escape';
          event.currentTarget.blur();
        }}
        className="-mx-2 block field-sizing-content w-[calc(100%+1rem)] resize-none rounded-md bg-transparent px-2 py-1 hover:bg-hover/60 focus:bg-sunken"
      />
    </h1>
  );
}

/**
 * ItemDescription shows the description as Markdown and edits it as plain text. The edited text is stored in this browser
 * until it is saved or discarded. It never overwrites what another person saved in the meantime.
 */
export function ItemDescription({ item }: { item: WorkItem }) {
  const { draft, write, drop } = useDraft(`description.${item.id}`);
  const [editing, setEditing] = useState(false);
  // The saved text on which the edit is based: that of the draft, or the text when the editor was opened.
  const [opened, setOpened] = useState(item.description);
  const base = draft?.base ?? opened;
  const text = draft?.text ?? base;
  const save = useSaveDescription();
  const conflict = save.error instanceof TextConflict ? save.error : null;
  const close = (): void => {
    save.reset();
    drop();
    setEditing(false);
  };
  const edit = (): void => {
    setOpened(item.description);
    setEditing(true);
  };
  const submit = (on = base): void => save.mutate({ id: item.id, text, base: on }, { onSuccess: close });

  if (!editing && !draft) {
    return (
      <section aria-label="Description" className="group flex flex-col gap-2">
        {item.description ? (
          <>
            <Markdown text={item.description} />
            <Button
              variant="ghost"
              size="sm"
              icon={<Pencil className="size-3" />}
              onClick={edit}
              className="-ml-2.5 self-start"
            >
              Edit description
            </Button>
          </>
        ) : (
          <button
            type="button"
            onClick={edit}
            className="rounded-lg border border-dashed px-3 py-3 text-left text-sm text-ink-3 hover:border-line-strong hover:text-ink-2"
          >
            Add a description…
          </button>
        )}
      </section>
    );
  }
  return (
    <section aria-label="Description" className="flex flex-col gap-2">
      {draft && !editing && (
        <p className="text-xs text-warn">
          Not saved yet: your draft of <RelativeTime at={new Date(draft.at).toISOString()} />.
        </p>
      )}
      <Textarea
        aria-label="Description"
        value={text}
        onChange={(event) => {
          setEditing(true);
          write(event.target.value, base);
        }}
        maxLength={65536}
        autoFocus={editing}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit();
          if (event.key === 'Escape' && !draft) {
            event.stopPropagation();
            close();
          }
        }}
        className="min-h-40 font-mono text-xs"
      />
      {conflict ? (
        <Conflict
          theirs={conflict.theirs}
          onMine={() => submit(conflict.theirs)}
          onTheirs={close}
          onBoth={() => {
            save.reset();
            write(`${conflict.theirs}\n\n${text}`, conflict.theirs);
          }}
        />
      ) : (
        save.error && (
          <p role="alert" className="text-xs text-bad">
            {messageOf(save.error)} Your text is kept here.
          </p>
        )
      )}
      <div className="flex items-center gap-2">
        <Button variant="primary" size="sm" busy={save.isPending} onClick={() => submit()}>
          Save
        </Button>
        <Button variant="ghost" size="sm" onClick={close}>
          {draft ? 'Discard' : 'Cancel'}
        </Button>
        <span className="ml-auto flex items-center gap-1.5 text-xs text-ink-3">
          Markdown · <Kbd keys="Ctrl Enter" /> saves
        </span>
      </div>
    </section>
  );
}

/** Conflict shows what another person saved in the meantime, and lets the user choose. */
function Conflict({
  theirs,
  onMine,
  onTheirs,
  onBoth,
}: {
  theirs: string;
  onMine(): void;
  onTheirs(): void;
  onBoth(): void;
}) {
  return (
    <div role="alert" className="flex flex-col gap-2 rounded-lg p-3 text-xs tone-warn">
      <p className="font-medium">Someone else has saved this description meanwhile. Theirs:</p>
      <pre className="max-h-48 overflow-auto rounded-md bg-sunken p-2 font-mono whitespace-pre-wrap text-ink">
        {theirs || '(empty)'}
      </pre>
      <div className="flex flex-wrap gap-2">
        <Button size="sm" onClick={onBoth}>
          Put mine below theirs
        </Button>
        <Button size="sm" onClick={onMine}>
          Replace theirs with mine
        </Button>
        <Button size="sm" onClick={onTheirs}>
          Discard mine
        </Button>
      </div>
    </div>
  );
}
