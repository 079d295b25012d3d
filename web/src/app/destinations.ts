import { type LinkProps, linkOptions } from '@tanstack/react-router';
import {
  Activity,
  Columns3,
  Inbox,
  LayoutGrid,
  ListOrdered,
  ListTree,
  type LucideIcon,
  Plug,
  Server,
  Settings,
  SlidersHorizontal,
  SquareTerminal,
} from 'lucide-react';

/** Destination is a page that can be reached from the navigation, the palette and a `g` shortcut. */
export interface Destination {
  label: string;
  icon: LucideIcon;
  /** The key after g. */
  key: string;
  link: LinkProps;
}

/** projectDestinations are the pages of one project. */
export const projectDestinations = (slug: string): Destination[] => [
  {
    label: 'Board',
    icon: Columns3,
    key: 'b',
    link: linkOptions({ to: '/p/$slug/board', params: { slug }, search: {} }),
  },
  {
    label: 'Tree',
    icon: ListTree,
    key: 't',
    link: linkOptions({ to: '/p/$slug/tree', params: { slug }, search: {} }),
  },
  {
    label: 'Project',
    icon: SlidersHorizontal,
    key: 'p',
    link: linkOptions({ to: '/p/$slug/settings', params: { slug } }),
  },
];

/** inboxDestination is the first entry of the navigation: what needs a person. */
export const inboxDestination: Destination = {
  label: 'Inbox',
  icon: Inbox,
  key: 'i',
  link: linkOptions({ to: '/inbox', search: {} }),
};

/** destinations are the pages that belong to no project, in the order of the navigation. */
export const destinations: Destination[] = [
  { label: 'Runs', icon: SquareTerminal, key: 'r', link: linkOptions({ to: '/runs', search: {} }) },
  { label: 'Wall', icon: LayoutGrid, key: 'w', link: linkOptions({ to: '/wall', search: {} }) },
  { label: 'Queue', icon: ListOrdered, key: 'q', link: linkOptions({ to: '/queue', search: {} }) },
  { label: 'Hosts', icon: Server, key: 'h', link: linkOptions({ to: '/hosts' }) },
  { label: 'Activity', icon: Activity, key: 'a', link: linkOptions({ to: '/activity', search: {} }) },
  { label: 'Providers', icon: Plug, key: 'v', link: linkOptions({ to: '/providers' }) },
];

/** settingsDestination is at the bottom of the navigation. */
export const settingsDestination: Destination = {
  label: 'Settings',
  icon: Settings,
  key: 's',
  link: linkOptions({ to: '/settings' }),
};
