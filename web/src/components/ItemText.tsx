import { Pencil } from 'lucide-react';
import { useRef, useState } from 'react';
import { messageOf } from '@/api/error';
import type { WorkItem } from '@/api/records';
import { useUpdateItem } from '@/data/actions';
import { Button } from '@/ui/Button';
import { Textarea } from '@/ui/Field';
import { Kbd } from '@/ui/Kbd';
import { toast } from '@/ui/toast';
import { Markdown } from './Markdown';

/** ItemTitle is the title, edited in place: Enter keeps, Esc takes back. */
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

/** ItemDescription is the description as Markdown, with a plain editor behind it. */
export function ItemDescription({ item }: { item: WorkItem }) {
  const [draft, setDraft] = useState<string | null>(null);
  const update = useUpdateItem();
  const save = (): void =>
    update.mutate({ id: item.id, patch: { description: draft ?? '' } }, { onSuccess: () => setDraft(null) });

  if (draft === null) {
    return (
      <section aria-label="Description" className="group flex flex-col gap-2">
        {item.description ? (
          <>
            <Markdown text={item.description} />
            <Button
              variant="ghost"
              size="sm"
              icon={<Pencil className="size-3" />}
              onClick={() => setDraft(item.description)}
              className="-ml-2.5 self-start"
            >
              Edit description
            </Button>
          </>
        ) : (
          <button
            type="button"
            onClick={() => setDraft('')}
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
      <Textarea
        aria-label="Description"
        value={draft}
        onChange={(event) => setDraft(event.target.value)}
        maxLength={65536}
        autoFocus
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) save();
          if (event.key === 'Escape' && draft === item.description) {
            event.stopPropagation();
            setDraft(null);
          }
        }}
        className="min-h-40 font-mono text-xs"
      />
      {update.error && (
        <p role="alert" className="text-xs text-bad">
          {messageOf(update.error)}
        </p>
      )}
      <div className="flex items-center gap-2">
        <Button variant="primary" size="sm" busy={update.isPending} onClick={save}>
          Save
        </Button>
        <Button variant="ghost" size="sm" onClick={() => setDraft(null)}>
          Cancel
        </Button>
        <span className="ml-auto flex items-center gap-1.5 text-xs text-ink-3">
          Markdown · <Kbd keys="Ctrl Enter" /> saves
        </span>
      </div>
    </section>
  );
}
