import { Kbd } from '@/ui/Kbd';
import { Dialog } from '@/ui/Overlay';

const groups: [string, [string, string][]][] = [
  [
    'Anywhere',
    [
      ['Ctrl K', 'Find or do anything'],
      ['/', 'Search'],
      ['?', 'This help'],
      ['c', 'New work item'],
      ['x', 'Select a row or a card'],
      ['Esc', 'Clear the selection'],
    ],
  ],
  [
    'Go to',
    [
      ['g b', 'Board'],
      ['g t', 'Tree'],
      ['g i', 'Inbox'],
      ['g r', 'Runs'],
      ['g w', 'Wall'],
      ['g q', 'Queue'],
      ['g h', 'Hosts'],
      ['g a', 'Activity'],
      ['g v', 'Providers'],
      ['g p', 'Project settings'],
      ['g s', 'Settings'],
    ],
  ],
  [
    'Work item',
    [
      ['Enter', 'Open'],
      ['r', 'Start a run'],
      ['m', 'Menu'],
      ['1 … 4', 'To do, doing, done, cancelled'],
      ['Esc', 'Close the sheet'],
    ],
  ],
  [
    'Board',
    [
      ['↑ ↓ ← →', 'Between cards'],
      ['Shift+← Shift+→', 'Move to the next column'],
      ['Shift+↑ Shift+↓', 'Move within the column'],
    ],
  ],
  [
    'Tree',
    [
      ['→ ←', 'Open, close'],
      ['[', 'One level up'],
      [']', 'Under the item above'],
      ['Shift+↑ Shift+↓', 'Move among siblings'],
    ],
  ],
  ['Queue', [['Shift+↑ Shift+↓', 'Higher, lower priority']]],
  [
    'Inbox',
    [
      ['j k', 'Between entries'],
      ['a', 'Answer'],
      ['r', 'Run again what failed'],
      ['o', 'Open'],
      ['e', 'Done'],
    ],
  ],
  [
    'Terminal',
    [
      ['a', 'Attach'],
      ['Ctrl+\\ d', 'Detach'],
    ],
  ],
];

/** Help lists the keyboard shortcuts. */
export function Help({ onClose }: { onClose(): void }) {
  return (
    <Dialog
      open
      onClose={onClose}
      title="Keyboard shortcuts"
      description="They are off while you type in a field and while you are attached to a terminal."
      wide
      text
    >
      <div className="grid gap-x-10 gap-y-6 sm:grid-cols-2">
        {groups.map(([title, rows]) => (
          <section key={title}>
            <h3 className="mb-1.5 text-xs font-medium text-ink-3">{title}</h3>
            <dl>
              {rows.map(([keys, what]) => (
                <div
                  key={keys}
                  className="flex items-center justify-between gap-4 border-b py-1.5 text-sm last:border-0"
                >
                  <dt className="text-ink-2">{what}</dt>
                  <dd>
                    <Kbd keys={keys} />
                  </dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
