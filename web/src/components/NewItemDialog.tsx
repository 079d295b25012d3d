import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useRef, useState } from 'react';
import { messageOf } from '@/api/error';
import { type Kind, kinds, type WorkItem } from '@/api/records';
import { useCreateItem } from '@/data/actions';
import { workItemsQuery } from '@/data/queries';
import { useDraft } from '@/lib/drafts';
import { focusIfLost, rowSelector } from '@/lib/focus';
import { Button } from '@/ui/Button';
import { Field, Input, Select, Textarea } from '@/ui/Field';
import { Dialog } from '@/ui/Overlay';
import { toast } from '@/ui/toast';
import { type Seed, useNewItem } from './newItem';
import { kindNames } from './status';

/** How many parents the form contains at most. Above that, the tree is used to set an item's parent. */
const mostParents = 500;

/** NewItemDialog is the form for a new work item. openNewItem opens it from anywhere. */
export function NewItemDialog() {
  const seed = useNewItem((state) => state.seed);
  const close = (): void => useNewItem.setState({ seed: null });
  return (
    <Dialog open={seed !== null} onClose={close} title="New work item">
      {seed && <Form seed={seed} onClose={close} />}
    </Dialog>
  );
}

function Form({ seed, onClose }: { seed: Seed; onClose(): void }) {
  // The typed text is kept when the form is closed by Esc. Cancel discards it.
  const titleDraft = useDraft(`new.title.${seed.project_id}`);
  const descriptionDraft = useDraft(`new.description.${seed.project_id}`);
  const title = titleDraft.draft?.text ?? '';
  const description = descriptionDraft.draft?.text ?? '';
  const drop = (): void => {
    titleDraft.drop();
    descriptionDraft.drop();
  };
  const [kind, setKind] = useState<Kind>(seed.kind ?? 'task');
  const [parent, setParent] = useState(seed.parent_id ?? '');
  const [another, setAnother] = useState(false);
  const [made, setMade] = useState<WorkItem>();
  const titleField = useRef<HTMLInputElement>(null);
  const create = useCreateItem();
  const { data: items = [] } = useQuery(workItemsQuery(seed.project_id));
  const rank = kinds.indexOf(kind);
  const parents = items
    .filter((item) => kinds.indexOf(item.kind) < rank || item.id === parent)
    .slice(0, mostParents);
  // A held key repeats before React has rendered the busy button.
  const sending = useRef(false);
  const incomplete = title.trim() === '';
  // The button that opened the form may be gone, like the one on an empty board. Then the new item gets the focus.
  const leave = (item?: WorkItem): void => {
    drop();
    onClose();
    if (item) focusIfLost(rowSelector(item.id));
  };
  const beginNext = (item: WorkItem): void => {
    const field = titleField.current;
    // Text that was typed during the request belongs to the next item.
    const typed = field?.value.startsWith(title) ? field.value.slice(title.length) : '';
    drop();
    titleDraft.write(typed, '');
    setMade(item);
    field?.focus();
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (incomplete || sending.current) return;
    sending.current = true;
    create.mutate(
      { ...seed, kind, title: title.trim(), description, parent_id: parent || null },
      {
        onSuccess: (item) => {
          if (another) beginNext(item);
          else leave(item);
          toast.success(`Created “${item.title}”`);
        },
        onSettled: () => {
          sending.current = false;
        },
      },
    );
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <Field label="Title" error={create.error && messageOf(create.error)}>
        {(ids) => (
          <Input
            {...ids}
            ref={titleField}
            value={title}
            onChange={(event) => titleDraft.write(event.target.value, '')}
            maxLength={500}
            required
            placeholder="What should happen?"
          />
        )}
      </Field>
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label="Kind">
          {(ids) => (
            <Select {...ids} value={kind} onChange={(event) => setKind(event.target.value as Kind)}>
              {kinds.map((each) => (
                <option key={each} value={each}>
                  {kindNames[each]}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <Field label="Under" optional>
          {(ids) => (
            <Select {...ids} value={parent} onChange={(event) => setParent(event.target.value)}>
              <option value="">The project itself</option>
              {parents.map((item) => (
                <option key={item.id} value={item.id}>
                  {item.title}
                </option>
              ))}
            </Select>
          )}
        </Field>
      </div>
      <Field label="Description" optional hint="Markdown. A run can take it as its prompt.">
        {(ids) => (
          <Textarea
            {...ids}
            value={description}
            onChange={(event) => descriptionDraft.write(event.target.value, '')}
            onKeyDown={(event) => {
              if (event.key === 'Enter' && (event.ctrlKey || event.metaKey))
                event.currentTarget.form?.requestSubmit();
            }}
            maxLength={65536}
          />
        )}
      </Field>
      <div className="flex items-center justify-end gap-2">
        <label className="mr-auto flex items-center gap-2 py-1 text-sm text-ink-2">
          <input
            type="checkbox"
            checked={another}
            onChange={(event) => setAnother(event.target.checked)}
            className="size-4 accent-accent-fill"
          />
          Create another
        </label>
        <Button onClick={() => leave(made)}>{made && incomplete ? 'Done' : 'Cancel'}</Button>
        <Button type="submit" variant="primary" busy={create.isPending} disabled={incomplete}>
          Create
        </Button>
      </div>
    </form>
  );
}
