import { Link } from '@tanstack/react-router';
import { CircleHelp, Ellipsis, Search } from 'lucide-react';
import type { Project } from '@/api/records';
import { ProjectSwitcher } from '@/components/ProjectSwitcher';
import { lazily } from '@/lib/lazily';
import { cx } from '@/ui/cx';
import { Kbd } from '@/ui/Kbd';
import { MenuButton } from '@/ui/MenuButton';
import { tip } from '@/ui/Tooltip';
import { ConnectionDot } from './Connection';
import {
  type Destination,
  destinations,
  inboxDestination,
  projectDestinations,
  settingsDestination,
} from './destinations';

interface NavProps {
  project: Project | null;
  /** How many entries the inbox has. */
  inbox: number;
  onSearch(): void;
}

const row =
  'group relative flex h-8 items-center gap-2.5 rounded-md px-2 text-sm text-ink-2 transition-colors hover:bg-hover hover:text-ink data-[status=active]:bg-panel data-[status=active]:font-medium data-[status=active]:text-ink data-[status=active]:shadow-1 data-[status=active]:ring-1 data-[status=active]:ring-line dark:data-[status=active]:bg-hover';

/** Nav is the main navigation: 176 px wide with words, or 56 px with icons when the window is narrow. */
export function Nav({
  project,
  inbox,
  narrow,
  onSearch,
  onHelp,
}: NavProps & { narrow: boolean; onHelp(): void }) {
  const words = narrow ? 'sr-only' : 'max-nav:sr-only';
  return (
    <nav
      aria-label="Main"
      className={cx(
        'hidden shrink-0 flex-col gap-4 border-r bg-sunken px-2.5 py-3 sm:flex',
        narrow ? 'w-14' : 'w-14 nav:w-44',
      )}
    >
      <div className="flex flex-col gap-2">
        <ProjectSwitcher project={project} words={words} />
        <button type="button" onClick={onSearch} className={cx(row, 'bg-panel ring-1 ring-inset ring-line')}>
          <Search className="size-4 shrink-0" />
          <span className={cx('flex-1 text-left', words)}>Search</span>
          <Kbd keys="Ctrl K" className={words} />
        </button>
      </div>
      <div>
        <Place place={inboxDestination} words={words} count={inbox} />
      </div>
      {project && <Places label="Project" places={projectDestinations(project.slug)} words={words} />}
      <Places label="Fleet" places={destinations} words={words} />
      <div className="mt-auto flex flex-col gap-0.5">
        <Place place={settingsDestination} words={words} />
        <button type="button" onClick={onHelp} className={row}>
          <CircleHelp className="size-4 shrink-0" />
          <span className={cx('flex-1 text-left', words)}>Help</span>
          <Kbd keys="?" className={words} />
        </button>
        <ConnectionDot words={words} />
      </div>
    </nav>
  );
}

function Places({ label, places, words }: { label: string; places: Destination[]; words: string }) {
  return (
    <div className="flex flex-col gap-0.5">
      <div className={cx('px-2 pb-1 text-2xs font-medium text-ink-3', words)}>{label}</div>
      {places.map((place) => (
        <Place key={place.label} place={place} words={words} />
      ))}
    </div>
  );
}

function Place({ place, words, count = 0 }: { place: Destination; words: string; count?: number }) {
  return (
    <Link
      {...place.link}
      {...tip(place.label, `g ${place.key}`, 'right')}
      activeOptions={{ includeSearch: false }}
      className={row}
    >
      <place.icon className="size-4 shrink-0" />
      <span className={cx('flex-1', words)}>{place.label}</span>
      {count > 0 && (
        <span
          className={cx(
            'rounded-full px-1.5 text-2xs font-semibold tabular tone-warn',
            words.startsWith('max')
              ? 'max-nav:absolute max-nav:-top-1 max-nav:-right-1'
              : 'absolute -top-1 -right-1',
          )}
        >
          {count}
          <span className="sr-only"> to deal with</span>
        </span>
      )}
    </Link>
  );
}

const MoreMenu = lazily(async () => (await import('./MoreMenu')).MoreMenu);

/** The keys of the destinations in the bottom bar on phones. The others are in a menu. */
const onPhones = ['i', 'b', 't', 'r'];

/** BottomBar is the navigation on phones, where a thumb reaches it. */
export function BottomBar({ project, inbox, onSearch }: NavProps) {
  const all = [
    inboxDestination,
    ...(project ? projectDestinations(project.slug) : []),
    ...destinations,
    settingsDestination,
  ];
  const cell =
    'relative flex flex-1 flex-col items-center gap-0.5 rounded-md py-1.5 text-2xs text-ink-2 data-[status=active]:text-accent';
  return (
    <nav
      aria-label="Main"
      className="flex h-(--bar) shrink-0 border-t bg-sunken px-1 pb-[env(safe-area-inset-bottom)] sm:hidden"
    >
      {all
        .filter((place) => onPhones.includes(place.key))
        .map((place) => (
          <Link key={place.label} {...place.link} activeOptions={{ includeSearch: false }} className={cell}>
            <place.icon className="size-5" />
            {place.label}
            {place.key === 'i' && inbox > 0 && (
              <span className="absolute top-0.5 left-1/2 ml-2 rounded-full bg-warn px-1 text-2xs font-semibold text-canvas">
                {inbox}
                <span className="sr-only"> to deal with</span>
              </span>
            )}
          </Link>
        ))}
      <button type="button" onClick={onSearch} className={cell}>
        <Search className="size-5" />
        Search
      </button>
      <MenuButton
        trigger={(props) => (
          <button type="button" {...props} className={cell}>
            <Ellipsis className="size-5" />
            More
          </button>
        )}
        menu={(place) => (
          <MoreMenu {...place} project={project} places={all.filter(({ key }) => !onPhones.includes(key))} />
        )}
      />
    </nav>
  );
}
