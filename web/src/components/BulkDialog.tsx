import { Button } from '@/ui/Button';
import { Dialog } from '@/ui/Overlay';
import { type BulkAction, type BulkOutcome, closeBulk, perform, useBulkAction } from './bulkAction';

/** How many names the question lists. */
const mostNames = 8;

/** BulkDialog asks before a bulk action, and afterwards lists what was refused and why. */
export function BulkDialog() {
  const { action, through, outcome } = useBulkAction();
  if (!action) return null;
  return outcome ? (
    <Refused outcome={outcome} total={action.names.length} />
  ) : (
    <Question action={action} through={through} />
  );
}

function Question({ action, through }: { action: BulkAction; through: number | null }) {
  const { title = '', about, names } = action;
  const busy = through !== null;
  return (
    <Dialog open onClose={() => !busy && closeBulk()} title={title} description={about}>
      <ul className="flex flex-col gap-1 text-sm text-ink-2">
        {names.slice(0, mostNames).map((name) => (
          <li key={name} className="truncate">
            {name}
          </li>
        ))}
        {names.length > mostNames && <li className="text-ink-3">and {names.length - mostNames} more</li>}
      </ul>
      <div className="mt-5 flex items-center justify-end gap-2">
        <span role="status" className="mr-auto text-xs text-ink-3 tabular">
          {busy && `${through} of ${names.length}`}
        </span>
        <Button disabled={busy} onClick={closeBulk}>
          Cancel
        </Button>
        <Button
          variant={action.danger ? 'danger' : 'primary'}
          busy={busy}
          onClick={() => void perform(action)}
        >
          {action.button}
        </Button>
      </div>
    </Dialog>
  );
}

function Refused({ outcome: { done, refused }, total }: { outcome: BulkOutcome; total: number }) {
  return (
    <Dialog
      open
      onClose={closeBulk}
      title={`${refused.length} of ${total} refused`}
      description={done > 0 ? `The other ${done} went through.` : 'Nothing has changed.'}
    >
      <ul aria-label="Refused" className="flex flex-col gap-1.5 text-sm break-words">
        {refused.map(({ name, why }) => (
          <li key={name}>
            <span className="font-medium">{name}</span> <span className="text-bad">{why}</span>
          </li>
        ))}
      </ul>
      <div className="mt-5 flex justify-end">
        <Button onClick={closeBulk}>Close</Button>
      </div>
    </Dialog>
  );
}
