import type { ReactNode } from 'react';
import type { Project } from '@/api/records';
import { Button } from '@/ui/Button';
import { Field } from '@/ui/Field';
import { type SettingName, textOf, type useEdits } from './edits';

/** Form is the state that the fields of a form share. */
export interface Form {
  project: Project;
  edits: ReturnType<typeof useEdits>;
  errors: Record<string, string>;
  readOnly: boolean;
}

/** Control has the attributes that connect an input with its label, hint and error. */
interface Control {
  id: string;
  'aria-describedby': string | undefined;
  'aria-invalid': boolean | undefined;
  value: string;
  disabled: boolean;
  onChange(event: { target: { value: string } }): void;
}

/** Setting is one field of a project: its label, the server's error for it, and another person's conflicting change. */
export function Setting({
  form,
  name,
  label,
  hint,
  optional,
  shown,
  children,
}: {
  form: Form;
  name: SettingName;
  label: string;
  hint?: ReactNode;
  optional?: boolean;
  /** The value that is shown until the user edits the field. Absent: the stored value. */
  shown?: string;
  children(control: Control): ReactNode;
}) {
  const { project, edits, errors, readOnly } = form;
  return (
    <div className="flex min-w-0 flex-col gap-2">
      <Field label={label} hint={hint} optional={optional} error={errors[name]}>
        {(ids) =>
          children({
            ...ids,
            value: name in edits.edits ? edits.text(name) : (shown ?? edits.text(name)),
            disabled: readOnly,
            onChange: (event) => edits.set(name, event.target.value),
          })
        }
      </Field>
      {edits.taken.includes(name) && (
        <div role="alert" className="flex flex-col gap-2 rounded-lg p-3 text-xs tone-warn">
          <p>
            Someone else has changed this meanwhile, to{' '}
            <code className="font-mono break-all whitespace-pre-wrap text-ink">
              {textOf(project[name]) || '(empty)'}
            </code>
          </p>
          <div className="flex flex-wrap gap-2">
            <Button size="sm" onClick={() => edits.keepMine(name)}>
              Replace theirs with mine
            </Button>
            <Button size="sm" onClick={() => edits.takeBack(name)}>
              Take theirs
            </Button>
          </div>
        </div>
      )}
    </div>
  );
}
