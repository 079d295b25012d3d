import { ListFilter, Plus, Rows3, Search, X } from 'lucide-react';
import type { Kind } from '@/api/records';
import { PageHeader } from '@/components/PageHeader';
import { kindNames } from '@/components/status';
import { lazily } from '@/lib/lazily';
import { setPref, usePrefs } from '@/lib/prefs';
import { Button, IconButton } from '@/ui/Button';
import { cx } from '@/ui/cx';
import { MenuButton } from '@/ui/MenuButton';

const LevelMenu = lazily(async () => (await import('./LevelMenu')).LevelMenu);

/** Toolbar is the header of the board: the filters, the options, and the button for a new item. */
export function Toolbar({
  title,
  words,
  onWords,
  levels,
  onLevels,
  onCreate,
}: {
  title: string;
  words: string;
  onWords(words: string): void;
  levels: readonly Kind[];
  onLevels(levels: Kind[]): void;
  onCreate(): void;
}) {
  const lanes = usePrefs((prefs) => prefs.lanes);
  return (
    <PageHeader title={title}>
      <div className="relative max-sm:flex-1">
        <Search aria-hidden className="pointer-events-none absolute top-2 left-2.5 size-4 text-ink-3" />
        <input
          type="search"
          aria-label="Filter by title"
          placeholder="Filter…"
          value={words}
          onChange={(event) => onWords(event.target.value)}
          onKeyDown={(event) => event.key === 'Escape' && onWords('')}
          className="h-8 w-28 max-sm:w-full rounded-md bg-transparent pr-7 pl-8 text-sm ring-1 ring-line ring-inset sm:focus:w-52 [&::-webkit-search-cancel-button]:hidden"
        />
        {words !== '' && (
          <button
            type="button"
            aria-label="Clear the filter"
            onClick={() => onWords('')}
            className="absolute top-1.5 right-1.5 rounded p-0.5 text-ink-3 hover:text-ink"
          >
            <X className="size-4" />
          </button>
        )}
      </div>
      <MenuButton
        trigger={(props) => (
          <Button
            {...props}
            variant="ghost"
            icon={<ListFilter className="size-4" />}
            className={cx(levels.length > 0 && 'text-accent!')}
          >
            <span className="max-sm:sr-only">
              {levels.length === 0 ? 'All levels' : levels.map((kind) => kindNames[kind]).join(', ')}
            </span>
          </Button>
        )}
        menu={(place) => <LevelMenu {...place} levels={levels} onLevels={onLevels} />}
      />
      <IconButton
        label={lanes ? 'Without lanes' : 'Lanes by parent'}
        aria-pressed={lanes}
        onClick={() => setPref('lanes', !lanes)}
        className={cx(lanes && 'bg-hover text-accent!')}
      >
        <Rows3 className="size-4" />
      </IconButton>
      <Button variant="primary" icon={<Plus className="size-4" />} onClick={onCreate}>
        New
      </Button>
    </PageHeader>
  );
}
