import { Plus, X } from 'lucide-react';
import type { Provider } from '@/api/records';
import { Button, IconButton } from '@/ui/Button';
import { Input } from '@/ui/Field';
import { ToolSelect } from './ToolSelect';

/** Contender is a further run of the same task, with another tool or another model. */
export interface Contender {
  /** An id that does not change when the list changes. */
  id: number;
  tool: string;
  model: string;
}

/** How many runs are started in one step at most, including the first one. */
const most = 8;

/** Contenders edits the list of further runs that start together with the first one, to compare their results. */
export function Contenders({
  contenders,
  providers,
  first,
  onChange,
}: {
  contenders: Contender[];
  providers: Provider[];
  /** The default tool of a new entry. */
  first: string;
  onChange(contenders: Contender[]): void;
}) {
  const change = (id: number, fields: Partial<Contender>): void =>
    onChange(contenders.map((each) => (each.id === id ? { ...each, ...fields } : each)));
  const add = (): void => {
    const id = Math.max(0, ...contenders.map((each) => each.id)) + 1;
    onChange([...contenders, { id, tool: first, model: '' }]);
  };
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="sr-only">Further runs on the same task</legend>
      {contenders.map(({ id, tool, model }, index) => (
        <div key={id} className="flex items-center gap-2">
          <ToolSelect
            providers={providers}
            aria-label={`Provider of run ${index + 2}`}
            value={tool}
            onChange={(event) => change(id, { tool: event.target.value })}
          />
          <Input
            aria-label={`Model of run ${index + 2}`}
            value={model}
            onChange={(event) => change(id, { model: event.target.value })}
            placeholder="The tool's own model"
          />
          <IconButton
            label={`Remove run ${index + 2}`}
            onClick={() => onChange(contenders.filter((each) => each.id !== id))}
          >
            <X className="size-4" />
          </IconButton>
        </div>
      ))}
      {contenders.length + 1 < most && (
        <span>
          <Button size="sm" variant="ghost" icon={<Plus className="size-3.5" />} onClick={add}>
            {contenders.length === 0 ? 'Compare with another run' : 'Another one'}
          </Button>
        </span>
      )}
    </fieldset>
  );
}
