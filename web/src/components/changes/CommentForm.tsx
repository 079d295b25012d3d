import { type FormEvent, useState } from 'react';
import { messageOf } from '@/api/error';
import { useDraft } from '@/lib/drafts';
import { Button } from '@/ui/Button';
import { Textarea } from '@/ui/Field';
import { Kbd } from '@/ui/Kbd';

/**
 * CommentForm creates or edits a comment. The typed text is stored in this browser until it is saved. Esc closes the form
 * and keeps the text.
 */
export function CommentForm({
  draftKey,
  label,
  base = '',
  submit,
  onSave,
  onClose,
}: {
  draftKey: string;
  label: string;
  /** The saved text. */
  base?: string;
  submit: string;
  onSave(body: string): Promise<unknown>;
  onClose(): void;
}) {
  const { draft, write, drop } = useDraft(draftKey);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const text = draft?.text ?? base;
  const save = async (event?: FormEvent): Promise<void> => {
    event?.preventDefault();
    if (text.trim() === '' || busy) return;
    setBusy(true);
    setError(null);
    try {
      await onSave(text);
      drop();
      onClose();
    } catch (failed) {
      setError(failed);
      setBusy(false);
    }
  };
  return (
    <form onSubmit={save} className="flex flex-col gap-2 p-2 font-sans">
      <Textarea
        aria-label={label}
        value={text}
        autoFocus
        onChange={(event) => write(event.target.value, base)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void save();
          if (event.key !== 'Escape') return;
          event.stopPropagation();
          onClose();
        }}
        placeholder="What should the agent do here?"
      />
      {error !== null && (
        <p role="alert" className="text-xs text-bad">
          {messageOf(error)} Your text is kept here.
        </p>
      )}
      <div className="flex items-center gap-2">
        <Button type="submit" size="sm" variant="primary" busy={busy} disabled={text.trim() === ''}>
          {submit}
        </Button>
        <Button
          size="sm"
          variant="ghost"
          onClick={() => {
            drop();
            onClose();
          }}
        >
          Discard
        </Button>
        <span className="ml-auto text-xs text-ink-3 max-sm:hidden">
          <Kbd keys="Ctrl Enter" /> saves
        </span>
      </div>
    </form>
  );
}
