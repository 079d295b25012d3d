import { Users } from 'lucide-react';
import { type ToggleEvent, useId } from 'react';
import { countOf, type Watchers as List, sentenceOf, watchWords } from '@/terminal/watchers';
import { RelativeTime } from '@/ui/RelativeTime';

/** The gap between the button and the list, and between the list and the window's edge, in px. */
const gap = 6;

/** Watchers shows who else sees the terminal: in words, or on a narrow screen as a number. A click lists everyone. */
export function Watchers({ watchers }: { watchers: List | null }) {
  const id = useId();
  const words = watchers ? watchWords(watchers) : '';
  return (
    <>
      {/* It is rendered before it has text: a screen reader does not announce text that is added with its element. */}
      <span role="status" className="sr-only">
        {watchers && sentenceOf(watchers)}
      </span>
      {watchers && words !== '' && (
        <>
          <button
            type="button"
            popoverTarget={id}
            aria-label={`${words}. Show everyone`}
            className="flex h-6 min-w-0 items-center gap-1 rounded-md px-1.5 text-ink-2 hover:bg-hover hover:text-ink max-sm:h-8 max-sm:px-2"
          >
            <Users aria-hidden className="size-3.5 shrink-0" />
            <span className="truncate max-sm:hidden">{words}</span>
            <span className="sm:hidden">{countOf(watchers)}</span>
          </button>
          <div
            id={id}
            popover="auto"
            onBeforeToggle={place}
            className="fixed inset-auto m-0 max-h-80 max-w-[min(20rem,calc(100vw-12px))] overflow-y-auto rounded-lg bg-raised p-3 text-xs text-ink shadow-2 ring-1 ring-line-strong"
          >
            <p className="font-semibold">Who sees this terminal</p>
            <ul className="mt-1.5 flex flex-col gap-1">
              {watchers.people.map((one, i) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: a person may be there twice, and rows have no state
                <li key={i} className="flex items-baseline gap-2">
                  <span className="min-w-0 break-words font-medium">
                    {one.name}
                    {one.you && ' (you)'}
                  </span>
                  <span className="text-ink-2">
                    {one.holds ? 'types' : one.mode === 'live' ? 'watches, not attached' : 'watches'}
                  </span>
                  <RelativeTime at={one.since} className="ml-auto whitespace-nowrap text-ink-2" />
                </li>
              ))}
              {watchers.more > 0 && <li className="text-ink-2">and {watchers.more} more</li>}
            </ul>
          </div>
        </>
      )}
    </>
  );
}

/** place puts the list below its button before it is shown. */
function place({ currentTarget: list, newState }: ToggleEvent<HTMLDivElement>): void {
  const button = document.querySelector(`[popovertarget="${list.id}"]`);
  if (newState !== 'open' || !button) return;
  const { left, bottom } = button.getBoundingClientRect();
  list.style.top = `${bottom + gap}px`;
  // The list is at most 20rem wide. Its exact width is known only after it is shown.
  list.style.left = `${Math.max(gap, Math.min(left, window.innerWidth - 320 - gap))}px`;
}
