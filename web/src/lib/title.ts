import { useEffect } from 'react';
import { visible } from './visible';

let page = '';
let waiting = 0;

function show(): void {
  document.title = `${waiting > 0 ? `(${waiting}) ` : ''}${page ? `${visible(page)} · ` : ''}svc`;
}

/** useTitle names the page in the browser's tab. */
export function useTitle(title: string): void {
  useEffect(() => {
    page = title;
    show();
  }, [title]);
}

/** setWaiting puts the number of runs that need someone in front of the title and onto the tab's icon. */
export function setWaiting(count: number): void {
  waiting = count;
  show();
  document.querySelector<HTMLLinkElement>('link[rel="icon"]')?.setAttribute('href', iconFor(count));
}

/** iconFor is the address of the tab's icon: the plain one, or one with a number, which has room for one digit. */
export function iconFor(count: number): string {
  if (count === 0) return '/icon.svg';
  const text = count > 9 ? '9+' : String(count);
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#5b5bd6"/><path d="M5 10.5 10.5 16 5 21.5" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round" stroke-linejoin="round"/><circle cx="21" cy="16" r="11" fill="#ffb224"/><text x="21" y="22" font-family="system-ui,sans-serif" font-size="${text.length > 1 ? 14 : 18}" font-weight="700" text-anchor="middle" fill="#1a1a1a">${text}</text></svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}
