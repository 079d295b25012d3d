import { useEffect } from 'react';
import { visible } from './visible';

let page = '';
let waiting = 0;

function show(): void {
  document.title = `${waiting > 0 ? `(${waiting}) ` : ''}${page ? `${visible(page)} · ` : ''}svc`;
}

/** useTitle sets the page's title in the browser's tab. */
export function useTitle(title: string): void {
  useEffect(() => {
    page = title;
    show();
  }, [title]);
}

/** setWaiting shows the number of runs that wait for a person before the title and on the tab's icon. */
export function setWaiting(count: number): void {
  waiting = count;
  show();
  document.querySelector<HTMLLinkElement>('link[rel="icon"]')?.setAttribute('href', iconFor(count));
}

/** iconFor returns the address of the tab's icon: the plain icon, or one with a count, which ends at 9+. */
export function iconFor(count: number): string {
  if (count === 0) return '/icon.svg';
  const text = count > 9 ? '9+' : String(count);
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#5b5bd6"/><path d="M5 10.5 10.5 16 5 21.5" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round" stroke-linejoin="round"/><circle cx="21" cy="16" r="11" fill="#ffb224"/><text x="21" y="22" font-family="system-ui,sans-serif" font-size="${text.length > 1 ? 14 : 18}" font-weight="700" text-anchor="middle" fill="#1a1a1a">${text}</text></svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}
